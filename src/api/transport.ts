import { Pool } from 'undici';
import type { Json } from '../core/json.js';
import type { Secret } from '../core/secret.js';
import { readAnswerHeaders } from './answer-headers.js';
import { badStatus, type CallContext, noAnswer, refused } from './call-failure.js';
import { ACCEPT_ENCODING } from './decode-body.js';
import { createDeprecations, type Deprecation } from './deprecations.js';
import { type Endpoint, variantOf } from './endpoint.js';
import { MAX_KEPT_BODY } from './errors.js';
import { EventStream, type StreamFacts } from './event-stream.js';
import { exchange, type WireRequest } from './exchange.js';
import { type LimitProfile, limitProfiles } from './limits.js';
import { type Answer, readAnswer } from './read-answer.js';
import { readStream } from './read-stream.js';
import { createRedact } from './redact.js';
import { encodeRequest, requestHeaders, resolveBase } from './request.js';
import type { StreamEndpoint } from './stream-endpoint.js';
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

export interface SendOptions {
  /** Cuts the call at once. */
  readonly signal?: AbortSignal;
  /** Fields added to the body of the request, unchecked. */
  readonly extraBody?: Readonly<Record<string, Json>>;
  readonly extraHeaders?: Readonly<Record<string, string>>;
  /** Tokens of beta features, beside those of the client. */
  readonly beta?: readonly string[];
  /** Another form of the operation: `v0` or `v1` of research (public facts 6). Default `contract`. */
  readonly variant?: string;
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

export interface Transport {
  /** Throws the `ApiError` that `send` would reject with for this input before sending: nothing is sent, nothing is waited for. */
  check<I, O>(endpoint: Endpoint<I, O>, input: Input<NoInfer<I>>, options?: SendOptions): void;
  /** One attempt. Rejects with `ApiError`, whatever went wrong. */
  send<I, O>(endpoint: Endpoint<I, O>, input: Input<NoInfer<I>>, options?: SendOptions): Promise<Answer<O>>;
  /**
   * One attempt at a streamed answer. Nothing is sent before the first chunk is asked for; the iterator rejects with `ApiError`,
   * or with `StreamDropped` where the stream broke off before its end.
   */
  stream<I, C>(
    spec: StreamEndpoint<I, C>,
    input: Input<NoInfer<I>>,
    options?: StreamOptions,
    hooks?: StreamHooks,
  ): EventStream<C>;
  /** Opens connections ahead until so many are free, so that the first calls start on time. Never rejects. */
  warm(connections: number): Promise<void>;
  /** Cuts what is still in flight and closes every connection. */
  close(): Promise<void>;
}

/** The longest delay a timer can hold; a longer one would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

function readTimeouts(given: Partial<Timeouts> = {}): Timeouts {
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
  const betaHeader = (options.betaHeader ?? 'exa-beta').toLowerCase();
  const deprecations = createDeprecations(options.warn);
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

  /** The request as it goes on the wire, and the endpoint in the form that was asked for. */
  const encode = <I, O>(given: Endpoint<I, O>, input: unknown, sendOptions: SendOptions) => {
    const endpoint = variantOf(given, sendOptions.variant);
    if (endpoint === null) {
      throw refused(contextOf(given), 'variant', `variant: ${given.name} has no form of that name`);
    }
    const tokens = [...(options.beta ?? []), ...(sendOptions.beta ?? [])];
    const beta = tokens.length === 0 ? {} : { [betaHeader]: tokens.join(',') };
    const extra = { body: sendOptions.extraBody, headers: { ...beta, ...sendOptions.extraHeaders } };
    const encoded = encodeRequest(endpoint, input, limits, extra);
    if ('problem' in encoded) throw refused(contextOf(endpoint), encoded.problem.field, encoded.problem.message);
    const { body } = encoded;
    const request: WireRequest = {
      method: endpoint.method,
      path: base.prefix + encoded.path,
      headers: { ...(body === null ? null : { 'content-type': 'application/json' }), ...headers, ...encoded.headers },
      body,
    };
    return { endpoint, request };
  };

  const sizes = { maxBytes, maxErrorBytes: MAX_KEPT_BODY };

  async function* openStream<I, C>(
    spec: StreamEndpoint<I, C>,
    input: unknown,
    given: StreamOptions,
    hooks: StreamHooks,
    facts: StreamFacts,
  ): AsyncGenerator<C, void, undefined> {
    const last = given.lastEventId === undefined ? null : { 'last-event-id': given.lastEventId };
    const extraHeaders = { accept: 'text/event-stream', ...last, ...given.extraHeaders };
    const asked = Object.keys(spec.ask).length === 0 ? given.extraBody : { ...given.extraBody, ...spec.ask };
    const { endpoint, request } = encode(spec.endpoint, input, { ...given, extraHeaders, extraBody: asked });
    deprecations.ofRequest(endpoint, input);
    const left = new AbortController();
    const signal = given.signal ? AbortSignal.any([given.signal, left.signal]) : left.signal;
    try {
      await hooks.beforeSend?.();
      const wire: WireRequest = {
        ...request,
        // Decompressing would hold events back.
        headers: { ...request.headers, 'accept-encoding': 'identity' },
        bodyTimeout: timeouts.streamSilenceMs,
      };
      yield* readStream(
        spec,
        {
          ...contextOf(endpoint),
          timeouts: { ...timeouts, bodyMs: timeouts.streamSilenceMs, totalMs: timeouts.streamMs },
        },
        { maxBytes, maxEvent: options.maxEventChars ?? 16_777_216 },
        facts,
        (choose) => exchange(pool, wire, { ...sizes, signal, totalMs: timeouts.streamMs }, choose),
      );
    } catch (error) {
      await hooks.onError?.(error);
      throw error;
    } finally {
      left.abort();
    }
  }

  return {
    check(endpoint, input, sendOptions = {}) {
      encode(endpoint, input, sendOptions);
    },
    async send(given, input, sendOptions = {}) {
      const { endpoint, request } = encode(given, input, sendOptions);
      deprecations.ofRequest(endpoint, input);
      const call = contextOf(endpoint);
      const came = await exchange(pool, request, { ...sizes, signal: sendOptions.signal, totalMs: timeouts.totalMs });
      if (came.status === null) throw noAnswer(call, came.started, came.broken ?? { by: 'wire', error: null });
      const said = readAnswerHeaders(came.headers, Date.now(), redact);
      if (came.status > 299) throw await badStatus(call, came, came.status, said);
      deprecations.ofAnswer(endpoint, said.deprecation);
      return readAnswer(endpoint, call, came, said, maxBytes);
    },
    stream: (spec, input, sendOptions = {}, hooks = {}) =>
      new EventStream((facts) => openStream(spec, input, sendOptions, hooks, facts)),
    warm: (connections) => connector.warm(connections - (pool.stats.connected - pool.stats.running)),
    async close() {
      connector.close();
      await pool.destroy();
    },
  };
}
