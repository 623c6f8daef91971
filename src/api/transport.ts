import { Pool } from 'undici';
import type { Json } from '../core/json.js';
import type { Secret } from '../core/secret.js';
import { readAnswerHeaders } from './answer-headers.js';
import { badStatus, type CallContext, noAnswer, refused } from './call-failure.js';
import { ACCEPT_ENCODING } from './decode-body.js';
import type { Endpoint } from './endpoint.js';
import { MAX_KEPT_BODY } from './errors.js';
import { exchange } from './exchange.js';
import { type LimitProfile, limitProfiles } from './limits.js';
import { type Answer, readAnswer } from './read-answer.js';
import { createRedact } from './redact.js';
import { encodeRequest, requestHeaders, resolveBase } from './request.js';
import { createWarmConnector } from './warm-connector.js';

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
}

export const defaultTimeouts: Timeouts = { connectMs: 10_000, headersMs: 300_000, bodyMs: 60_000, totalMs: 360_000 };

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
  /** Largest answer in bytes, as it comes and decompressed. Default 64 MiB. */
  readonly maxBodyBytes?: number;
  /** Most connections at once. Default 256. */
  readonly connections?: number;
  /** The limits that requests are checked against before they cost anything. Default `contract`. */
  readonly profile?: LimitProfile;
}

export interface SendOptions {
  /** Cuts the call at once. */
  readonly signal?: AbortSignal;
  /** Fields added to the body of the request, unchecked. */
  readonly extraBody?: Readonly<Record<string, Json>>;
  readonly extraHeaders?: Readonly<Record<string, string>>;
}

/** A request as its type knows it, or plain JSON, which is checked all the same. */
export type Input<I> = I | { readonly [field: string]: Json };

export interface Transport {
  /** Throws the `ApiError` that `send` would reject with for this input before sending: nothing is sent, nothing is waited for. */
  check<I, O>(endpoint: Endpoint<I, O>, input: Input<NoInfer<I>>, options?: SendOptions): void;
  /** One attempt. Rejects with `ApiError`, whatever went wrong. */
  send<I, O>(endpoint: Endpoint<I, O>, input: Input<NoInfer<I>>, options?: SendOptions): Promise<Answer<O>>;
  /** Opens connections ahead until so many are free, so that the first calls start on time. Never rejects. */
  warm(connections: number): Promise<void>;
  /** Cuts what is still in flight and closes every connection. */
  close(): Promise<void>;
}

/** The longest delay a timer can hold; a longer one would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

function readTimeouts(given: Partial<Timeouts> = {}): Timeouts {
  const one = (name: keyof Timeouts): number => Math.min(given[name] ?? defaultTimeouts[name], MAX_DELAY_MS);
  return { connectMs: one('connectMs'), headersMs: one('headersMs'), bodyMs: one('bodyMs'), totalMs: one('totalMs') };
}

/**
 * The way to the service: pooled connections with one request at a time each, no redirects, no retries.
 * Throws `TypeError` where base URL, key or headers can't be used.
 */
export function createTransport(options: TransportOptions): Transport {
  const base = resolveBase(options.baseUrl);
  const timeouts = readTimeouts(options.timeouts);
  const limits = limitProfiles[options.profile ?? 'contract'];
  const maxBytes = options.maxBodyBytes ?? 67_108_864;
  const redact = createRedact(options.apiKey);
  const headers = requestHeaders(options.apiKey, options.auth ?? 'x-api-key', ACCEPT_ENCODING, options.headers);
  const connector = createWarmConnector(base.url, timeouts.connectMs);
  const pool = new Pool(base.url.origin, {
    connections: options.connections ?? 256,
    pipelining: 1,
    connect: connector.connect,
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.bodyMs,
  });

  const contextOf = (endpoint: CallContext['endpoint']): CallContext => ({
    endpoint,
    base: base.url,
    timeouts,
    redact,
  });

  const encode = <I, O>(endpoint: Endpoint<I, O>, input: unknown, { extraBody, extraHeaders }: SendOptions) => {
    const encoded = encodeRequest(endpoint, input, limits, extraBody, extraHeaders);
    if ('problem' in encoded) throw refused(contextOf(endpoint), encoded.problem.field, encoded.problem.message);
    return encoded;
  };

  return {
    check(endpoint, input, options = {}) {
      encode(endpoint, input, options);
    },
    async send(endpoint, input, options = {}) {
      const encoded = encode(endpoint, input, options);
      const call = contextOf(endpoint);
      const came = await exchange(
        pool,
        {
          method: endpoint.method,
          path: base.prefix + endpoint.path,
          headers: { ...headers, ...encoded.headers },
          body: encoded.body,
        },
        { signal: options.signal, totalMs: timeouts.totalMs, maxBytes, maxErrorBytes: MAX_KEPT_BODY },
      );
      if (came.status === null) throw noAnswer(call, came.started, came.broken ?? { by: 'wire', error: null });
      const said = readAnswerHeaders(came.headers, Date.now(), redact);
      if (came.status > 299) throw await badStatus(call, came, came.status, said);
      return readAnswer(endpoint, call, came, said, maxBytes);
    },
    warm: (connections) => connector.warm(connections - (pool.stats.connected - pool.stats.running)),
    async close() {
      connector.close();
      await pool.destroy();
    },
  };
}
