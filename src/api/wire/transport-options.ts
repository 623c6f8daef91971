import type { Json } from '../../core/text/json.js';
import type { Secret } from '../../core/text/secret.js';
import type { LimitProfile } from '../checks/limits.js';
import type { BodyMemory } from './body-memory.js';
import type { Deprecation } from './deprecations.js';

/** How long each part of a call may take, in milliseconds. */
export interface Timeouts {
  /** Making a connection. */
  readonly connectMs: number;
  /** From the request to the beginning of the answer. */
  readonly headersMs: number;
  /** Silence within the body. */
  readonly bodyMs: number;
  /** All of it, with the wait for a free connection: what ends an answer that drips. */
  readonly totalMs: number;
  /** Silence within a stream; keep-alives break it. A deep search thinks for minutes before its first word. */
  readonly streamSilenceMs: number;
  /** All of a stream: the longest agent runs take three hours (public facts 8.5). */
  readonly streamMs: number;
}

export const defaultTimeouts: Timeouts = {
  connectMs: 10_000,
  headersMs: 300_000,
  bodyMs: 60_000,
  totalMs: 360_000,
  streamSilenceMs: 300_000,
  streamMs: 12_600_000,
};

export interface TransportOptions {
  /** Where paths start: `http` or `https`, with a path of its own or without. */
  readonly baseUrl: string;
  /** Null sends no key: the service may answer with a 402 challenge (interface section 5.4). */
  readonly apiKey: Secret | null;
  /** The service knows both (interface section 5.1). Default `x-api-key`. */
  readonly auth?: 'x-api-key' | 'bearer';
  /** Sent with every request, such as a beta token. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeouts?: Partial<Timeouts>;
  /** Largest answer in bytes, as it comes and decompressed; also all of a stream. Default 64 MiB. */
  readonly maxBodyBytes?: number;
  /** Largest event of a stream in characters. Default 16 Mi. */
  readonly maxEventChars?: number;
  /** Tokens of beta features for every request, such as `agent-max-effort-2026-07-27` (interface section 9). */
  readonly beta?: readonly string[];
  /** The header they go in. Default `exa-beta` (public facts 1.1). */
  readonly betaHeader?: string;
  /** Told once of each thing the service is going to drop: the `Deprecation` header of an operation, a field of a request. */
  readonly warn?: (warning: Deprecation) => void;
  /** Most connections at once. Default 256. */
  readonly connections?: number;
  /** The limits that requests are checked against before they cost anything. Default `contract`. */
  readonly profile?: LimitProfile;
}

/** What a worker's owner may choose about the wire. */
export type WireOptions = Pick<TransportOptions, 'auth' | 'headers' | 'beta' | 'betaHeader' | 'profile'>;

export interface SendOptions {
  /** Cuts the call at once. */
  readonly signal?: AbortSignal;
  /** The whole call may take so long; default what the transport allows every call. */
  readonly totalMs?: number;
  /** Fields added to the body of the request, unchecked. */
  readonly extraBody?: Readonly<Record<string, Json>>;
  readonly extraHeaders?: Readonly<Record<string, string>>;
  /** Tokens of beta features, beside those of the client. */
  readonly beta?: readonly string[];
  /** Another form of the operation: `v0` or `v1` of research (public facts 6). Default `contract`. */
  readonly variant?: string;
}

/** How a page of a list is asked for whose records stay as they came. */
export interface RawListOptions extends SendOptions {
  /** Reads the whole envelope, whatever its form. */
  readonly careful?: boolean;
  /** Where its records may be put, if the service tells their size; the caller gives that back. */
  readonly memory?: BodyMemory;
}

export interface StreamOptions extends SendOptions {
  /** Replay only what came behind this event. */
  readonly lastEventId?: string;
}

/** What happens around a stream, such as waiting for a turn of the limiter. */
export interface StreamHooks {
  /** Waited for when the first chunk is asked for, before the request is sent. */
  beforeSend?(): Promise<void>;
  /** Waited for before the error reaches the reader. */
  onError?(error: unknown): Promise<void>;
}

/** A request as its type knows it, or plain JSON, which is checked all the same. */
export type Input<I> = I | { readonly [field: string]: Json };

/** The longest delay a timer can hold; a longer one would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** The timeouts with the defaults put in, none of them longer than a timer can hold. */
export function readTimeouts(given: Partial<Timeouts> = {}): Timeouts {
  const one = (name: keyof Timeouts): number => Math.min(given[name] ?? defaultTimeouts[name], MAX_DELAY_MS);
  return {
    connectMs: one('connectMs'),
    headersMs: one('headersMs'),
    bodyMs: one('bodyMs'),
    totalMs: one('totalMs'),
    streamSilenceMs: one('streamSilenceMs'),
    streamMs: one('streamMs'),
  };
}
