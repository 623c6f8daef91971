import type { ProxySetting } from '../../core/connections/proxies.js';
import type { Secret } from '../../core/connections/secret.js';
import type { Json } from '../../core/text/json.js';
import type { Deprecation } from './deprecations.js';

/** Timeouts of the parts of a call, in milliseconds. */
export interface Timeouts {
  /** Opening a connection. */
  readonly connectMs: number;
  /** From the request to the start of the answer. */
  readonly headersMs: number;
  /** Silence within the body. */
  readonly bodyMs: number;
  /** The whole call, with the wait for a free connection. This limit ends an answer that comes too slowly. */
  readonly totalMs: number;
  /** Silence within a stream; a keep-alive ends the silence. A deep search may take minutes before its first chunk. */
  readonly streamSilenceMs: number;
  /** The whole stream: the longest agent runs take three hours (API reference: /agent/runs). */
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

/** The header for beta tokens. Its prefix is the service's name. */
export const DEFAULT_BETA_HEADER = 'exa-beta';

export interface TransportOptions {
  /** The URL that all paths are appended to: `http` or `https`, with or without a path. */
  readonly baseUrl: string;
  /** The variable or option that sets the base URL, for messages. Default `baseUrl`. */
  readonly setting?: string | undefined;
  /** Null sends no key: the service may answer with a 402 challenge. */
  readonly apiKey: Secret | null;
  /** The header of the key; the service accepts both. Default `x-api-key`. */
  readonly auth?: 'x-api-key' | 'bearer';
  /** Headers of every request, such as those that a gateway wants. Their values are never shown. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeouts?: Partial<Timeouts>;
  /** Maximum size of an answer, and of a whole stream, in bytes before and after decompression. Default 64 MiB. */
  readonly maxBodyBytes?: number;
  /** Maximum size of an event of a stream, in characters. Default 16 Mi. */
  readonly maxEventChars?: number;
  /** Tokens of beta features for every request, such as `agent-max-effort-2026-07-27` (API reference: beta features). */
  readonly beta?: readonly string[];
  /** The header for the tokens of `beta`. Default `exa-beta`. */
  readonly betaHeader?: string;
  /** Called once for each deprecation (the header `Deprecation`, a field of a request), and for odd fields of a free answer. */
  readonly warn?: (warning: Deprecation) => void;
  /** Maximum number of concurrent connections. Default 256. */
  readonly connections?: number;
  /** Sends misspelt names and values of requests, too. Default: they are refused. */
  readonly unchecked?: boolean;
  /** Default: none. `proxiesOf` reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY of an environment. A text is the address of one proxy. */
  readonly proxy?: ProxySetting;
}

export type WireOptions = Pick<TransportOptions, 'auth' | 'headers' | 'beta' | 'betaHeader' | 'unchecked' | 'proxy'>;

export interface SendOptions {
  /** Ends the call at once. */
  readonly signal?: AbortSignal;
  /** Timeout of the whole call; default: the transport's. */
  readonly totalMs?: number;
  /** Fields added to the body of the request, unchecked. */
  readonly extraBody?: Readonly<Record<string, Json>>;
  readonly extraHeaders?: Readonly<Record<string, string>>;
  /** Tokens of beta features, in addition to the client's. */
  readonly beta?: readonly string[];
  /** Sends misspelt names and values, too. Default: the transport's. */
  readonly unchecked?: boolean;
}

/** The space for the body of a successful answer. The caller gives the space back. */
export interface BodySpace {
  /** Called when the body begins. If false, the connection pauses until `resume` is called. Absent: there is always room. */
  enter?(resume: () => void): boolean;
  /** Counts bytes of the body as sent: at once if its length is known, otherwise as they come. */
  add?(bytes: number): void;
  /** Returns memory for a body of known length without an encoding. */
  take(bytes: number): Buffer;
}

/** Options for an answer whose body comes at once. */
export interface AnswerOptions extends SendOptions {
  readonly space?: BodySpace;
}

/** Options for a page of a list with unparsed records. */
export interface RawListOptions extends AnswerOptions {
  /** Parses the whole envelope, not only the text before and after the list. */
  readonly careful?: boolean;
}

export interface StreamOptions extends SendOptions {
  /** Id of an event: only later events are replayed. */
  readonly lastEventId?: string;
}

/** Hooks around a stream, such as the wait for a turn of the limiter. */
export interface StreamHooks {
  /** Awaited when the first chunk is read, before the request is sent. */
  beforeSend?(): Promise<void>;
  /** Awaited before the error reaches the reader. */
  onError?(error: unknown): Promise<void>;
}

/** A typed request, or plain JSON. Both are checked before they are sent. */
export type Input<I> = I | { readonly [field: string]: Json };

/** The longest delay of a timer; a timer with a longer delay would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** Fills in default timeouts and caps all at the longest delay of a timer. */
export function readTimeouts(timeouts: Partial<Timeouts> = {}): Timeouts {
  const one = (name: keyof Timeouts): number => Math.min(timeouts[name] ?? defaultTimeouts[name], MAX_DELAY_MS);
  return {
    connectMs: one('connectMs'),
    headersMs: one('headersMs'),
    bodyMs: one('bodyMs'),
    totalMs: one('totalMs'),
    streamSilenceMs: one('streamSilenceMs'),
    streamMs: one('streamMs'),
  };
}
