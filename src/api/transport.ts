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
  type AnswerOptions,
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
  /** Throws the `ApiError` with which `send` would refuse this input. Sends nothing and does not wait. */
  check<I, O>(endpoint: Endpoint<I, O>, input: Input<NoInfer<I>>, options?: SendOptions): void;
  /** One attempt. Rejects with `ApiError` for every failure. */
  send<I, O>(endpoint: Endpoint<I, O>, input: Input<NoInfer<I>>, options?: AnswerOptions): Promise<Answer<O>>;
  /** One attempt at a page of a list with unparsed records, see {@link RawList}. Rejects with `ApiError`. */
  sendRawList<I, O>(endpoint: Endpoint<I, O>, input: Input<NoInfer<I>>, options?: RawListOptions): Promise<RawList>;
  /**
   * One attempt at a streamed answer. The request is sent when the first chunk is read. The iterator rejects with `ApiError`, or with
   * `StreamDropped` where the stream broke off before its end.
   */
  stream<I, C>(
    spec: StreamEndpoint<I, C>,
    input: Input<NoInfer<I>>,
    options?: StreamOptions,
    hooks?: StreamHooks,
  ): EventStream<C>;
  /** Opens connections until `connections` are free, so that the first calls start on time. Never rejects. */
  warm(connections: number): Promise<void>;
  /** Ends requests in flight and closes all connections. */
  close(): Promise<void>;
}

/**
 * Creates the transport to the service: pooled connections with one request at a time each, no redirects, no retries. Throws `TypeError`
 * for an unusable base URL, key or header.
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
    setting: options.setting,
    timeouts,
    redact,
  });

  /** Returns the request for the wire, and the requested variant of the endpoint. */
  const encode = <I, O>(contract: Endpoint<I, O>, input: unknown, sendOptions: SendOptions) => {
    const endpoint = variantOf(contract, sendOptions.variant);
    if (endpoint === null) {
      throw refused(contextOf(contract), 'variant', `variant: ${contract.name} has no variant of that name`);
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
    streamOptions: StreamOptions,
    hooks: StreamHooks,
    facts: StreamFacts,
  ): AsyncGenerator<C, void, undefined> {
    const { lastEventId } = streamOptions;
    const last = lastEventId === undefined ? null : { 'last-event-id': lastEventId };
    const extraHeaders = { accept: 'text/event-stream', ...last, ...streamOptions.extraHeaders };
    const asks = Object.keys(spec.ask).length > 0;
    const extraBody = asks ? { ...streamOptions.extraBody, ...spec.ask } : streamOptions.extraBody;
    const { endpoint, request } = encode(spec.endpoint, input, { ...streamOptions, extraHeaders, extraBody });
    deprecations.ofRequest(endpoint, input);
    const left = new AbortController();
    const signal = streamOptions.signal ? AbortSignal.any([streamOptions.signal, left.signal]) : left.signal;
    try {
      await hooks.beforeSend?.();
      const wire: WireRequest = {
        ...request,
        // Decompression would delay events.
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

  /** Sends a request; rejects unless the answer is a success. The body of the answer is not read yet. */
  const succeed = async <I, O>(contract: Endpoint<I, O>, input: unknown, { space, ...sendOptions }: AnswerOptions) => {
    const { endpoint, request } = encode(contract, input, sendOptions);
    deprecations.ofRequest(endpoint, input);
    const { signal, totalMs = timeouts.totalMs } = sendOptions;
    const call = { ...contextOf(endpoint), timeouts: { ...timeouts, totalMs } };
    const received = await exchange(pool, request, { ...sizes, signal, totalMs, space });
    if (received.status === null)
      throw noAnswer(call, received.started, received.broken ?? { by: 'wire', error: null });
    const answerHeaders = readAnswerHeaders(received.headers, Date.now(), redact);
    if (received.status > 299) throw await badStatus(call, received, received.status, answerHeaders);
    deprecations.ofAnswer(endpoint, answerHeaders.deprecation);
    return { endpoint, call, received, answerHeaders };
  };

  return {
    check(endpoint, input, sendOptions = {}) {
      encode(endpoint, input, sendOptions);
    },
    async send(contract, input, sendOptions = {}) {
      const { endpoint, call, received, answerHeaders } = await succeed(contract, input, sendOptions);
      return readAnswer(endpoint, call, received, answerHeaders, maxBytes);
    },
    async sendRawList(contract, input, { careful = false, ...sendOptions } = {}) {
      const { endpoint, call, received, answerHeaders } = await succeed(contract, input, sendOptions);
      return readRawList(endpoint, call, received, answerHeaders, { maxBytes, careful });
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
