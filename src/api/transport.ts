import { Pool } from 'undici';
import { type Answer, readAnswer } from './answer/read-answer.js';
import { type RawList, readRawList } from './answer/read-raw-list.js';
import { limitProfiles } from './checks/limits.js';
import { createRedact } from './checks/redact.js';
import { encodeRequest, requestHeaders, resolveBase } from './request.js';
import { EventStream, type StreamFacts } from './stream/event-stream.js';
import { readStream } from './stream/read-stream.js';
import type { StreamEndpoint } from './stream/stream-endpoint.js';
import { readAnswerHeaders } from './wire/answer-headers.js';
import { badStatus, type CallContext, noAnswer, refused } from './wire/call-failure.js';
import { ACCEPT_ENCODING } from './wire/decode-body.js';
import { createDeprecations } from './wire/deprecations.js';
import { type Endpoint, variantOf } from './wire/endpoint.js';
import { MAX_KEPT_BODY } from './wire/errors.js';
import { exchange, type WireRequest } from './wire/exchange.js';
import {
  type Input,
  type RawListOptions,
  readTimeouts,
  type SendOptions,
  type StreamHooks,
  type StreamOptions,
  type TransportOptions,
} from './wire/transport-options.js';
import { createWarmConnector } from './wire/warm-connector.js';

export {
  defaultTimeouts,
  type Input,
  type SendOptions,
  type StreamHooks,
  type StreamOptions,
  type Timeouts,
  type TransportOptions,
  type WireOptions,
} from './wire/transport-options.js';

export interface Transport {
  /** Throws the `ApiError` that `send` would reject with for this input before sending: nothing is sent, nothing is waited for. */
  check<I, O>(endpoint: Endpoint<I, O>, input: Input<NoInfer<I>>, options?: SendOptions): void;
  /** One attempt. Rejects with `ApiError`, whatever went wrong. */
  send<I, O>(endpoint: Endpoint<I, O>, input: Input<NoInfer<I>>, options?: SendOptions): Promise<Answer<O>>;
  /** One attempt at a page of a list whose records stay as they came, see {@link RawList}. Rejects with `ApiError`. */
  sendRawList<I, O>(endpoint: Endpoint<I, O>, input: Input<NoInfer<I>>, options?: RawListOptions): Promise<RawList>;
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

  /** Sends a request and rejects unless the answer is a success; its body is still to be read. */
  const succeed = async <I, O>(
    given: Endpoint<I, O>,
    input: unknown,
    { memory, ...sendOptions }: SendOptions & Pick<RawListOptions, 'memory'>,
  ) => {
    const { endpoint, request } = encode(given, input, sendOptions);
    deprecations.ofRequest(endpoint, input);
    const { signal, totalMs = timeouts.totalMs } = sendOptions;
    const call = { ...contextOf(endpoint), timeouts: { ...timeouts, totalMs } };
    const came = await exchange(pool, request, { ...sizes, signal, totalMs, memory });
    if (came.status === null) throw noAnswer(call, came.started, came.broken ?? { by: 'wire', error: null });
    const said = readAnswerHeaders(came.headers, Date.now(), redact);
    if (came.status > 299) throw await badStatus(call, came, came.status, said);
    deprecations.ofAnswer(endpoint, said.deprecation);
    return { endpoint, call, came, said };
  };

  return {
    check(endpoint, input, sendOptions = {}) {
      encode(endpoint, input, sendOptions);
    },
    async send(given, input, sendOptions = {}) {
      const { endpoint, call, came, said } = await succeed(given, input, sendOptions);
      return readAnswer(endpoint, call, came, said, maxBytes);
    },
    async sendRawList(given, input, { careful = false, ...sendOptions } = {}) {
      const { endpoint, call, came, said } = await succeed(given, input, sendOptions);
      return readRawList(endpoint, call, came, said, { maxBytes, careful });
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
