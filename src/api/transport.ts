import { EnvHttpProxyAgent, Pool } from 'undici';
import { proxiesTo } from '../core/connections/proxies.js';
import { type Answer, readAnswer } from './answer/read-answer.js';
import { type RawList, readRawList } from './answer/read-raw-list.js';
import { misspeltFields, WAY_PAST } from './checks/misspelt-fields.js';
import { createRedact, createRedactBytes } from './checks/redact.js';
import { operations } from './operations.js';
import { encodeRequest, requestHeaders, resolveBase } from './request.js';
import { EventStream, type StreamFacts } from './stream/chunk-reader.js';
import { readStream } from './stream/read-stream.js';
import type { StreamEndpoint } from './stream/stream-endpoint.js';
import { arrivedOf, badStatus, type CallContext, noAnswer, refused } from './wire/call-failure.js';
import { ACCEPT_ENCODING } from './wire/decode-body.js';
import { createDeprecations } from './wire/deprecations.js';
import type { Endpoint } from './wire/endpoint.js';
import { MAX_KEPT_BODY } from './wire/errors.js';
import { exchange, type WireRequest } from './wire/exchange.js';
import {
  type AnswerOptions,
  DEFAULT_BETA_HEADER,
  type Input,
  type RawListOptions,
  readTimeouts,
  type SendOptions,
  type StreamHooks,
  type StreamOptions,
  type TransportOptions,
} from './wire/transport-options.js';

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
  /** See {@link TransportOptions}. */
  readonly unchecked: boolean;
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
  /** Ends requests in flight and closes all connections. */
  close(): Promise<void>;
}

/**
 * Creates the transport to the service: pooled connections with one request at a time each, no redirects, no retries. Throws `TypeError`
 * for an unusable base URL, key or header.
 */
export function createTransport(options: TransportOptions): Transport {
  const setting = options.setting ?? 'baseUrl';
  const base = resolveBase(options.baseUrl, setting);
  const proxy = proxiesTo(base.url.hostname, options.proxy);
  const timeouts = readTimeouts(options.timeouts);
  const maxBytes = options.maxBodyBytes ?? 67_108_864;
  const redactBytes = createRedactBytes(options.apiKey);
  const redact = createRedact(options.apiKey, Object.values(options.headers ?? {}));
  const headers = requestHeaders(options.apiKey, options.auth ?? 'x-api-key', ACCEPT_ENCODING, options.headers);
  const betaHeader = (options.betaHeader ?? DEFAULT_BETA_HEADER).toLowerCase();
  const deprecations = createDeprecations(options.warn);
  const poolOptions = {
    connections: options.connections ?? 256,
    pipelining: 1,
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.bodyMs,
  };
  const connect = { timeout: timeouts.connectMs };
  const direct = new Pool(base.url.origin, { ...poolOptions, connect });
  // All requests have the scheme of the base URL, so they have one proxy.
  const proxyOfScheme = base.url.protocol === 'https:' ? (proxy?.https ?? proxy?.http) : proxy?.http;
  const pool = proxy
    ? new EnvHttpProxyAgent({
        // An empty text: no other proxy. Without a value undici would read the environment.
        httpProxy: proxyOfScheme?.reveal() ?? '',
        httpsProxy: '',
        noProxy: proxy.no,
        headers: { 'user-agent': headers['user-agent'] },
        proxyTls: connect,
        requestTls: connect,
        connect,
        factory: (origin, own: Pool.Options) => new Pool(origin, { ...own, ...poolOptions }),
      })
    : direct;

  const contextOf = (endpoint: CallContext['endpoint']): CallContext => ({
    endpoint,
    base: base.url,
    setting: proxy ? `${setting} and HTTPS_PROXY` : setting,
    timeouts,
    ...{ redact, redactBytes },
  });

  /** Returns the request for the wire. */
  const encode = <I, O>(endpoint: Endpoint<I, O>, input: unknown, sendOptions: SendOptions) => {
    const given = [...(options.beta ?? []), ...(sendOptions.beta ?? [])];
    const beta = given.length === 0 ? {} : { [betaHeader]: given.join(',') };
    const extra = { body: sendOptions.extraBody, headers: { ...beta, ...sendOptions.extraHeaders } };
    const encoded = encodeRequest(endpoint, input, extra);
    if ('problem' in encoded) throw refused(contextOf(endpoint), encoded.problem.field, encoded.problem.message);
    const own = { ...headers, ...encoded.headers };
    // The input has just been checked against the endpoint's types.
    const needed = withNeeded([headers[betaHeader], encoded.headers[betaHeader]], endpoint.beta(input as I));
    if (needed !== '') own[betaHeader] = needed;
    if (encoded.body !== null) own['content-type'] ??= 'application/json';
    const request: WireRequest = {
      origin: base.url.origin,
      method: endpoint.method,
      path: base.prefix + encoded.path,
      headers: own,
      body: encoded.body,
    };
    return { endpoint, request };
  };

  const check = <I, O>(endpoint: Endpoint<I, O>, input: unknown, sendOptions: SendOptions): void => {
    encode(endpoint, input, sendOptions);
    const { unchecked = options.unchecked } = sendOptions;
    const wrong = unchecked ? [] : misspeltFields(endpoint, input, Object.values(operations));
    const [first] = wrong;
    if (!first) return;
    throw refused(contextOf(endpoint), first.field, `${wrong.map(({ message }) => message).join(' ')} ${WAY_PAST}`);
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
    check(spec.endpoint, input, streamOptions);
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
  const succeed = async <I, O>(declared: Endpoint<I, O>, input: unknown, { space, ...sendOptions }: AnswerOptions) => {
    const { endpoint, request } = encode(declared, input, sendOptions);
    deprecations.ofRequest(endpoint, input);
    const { signal, totalMs = timeouts.totalMs } = sendOptions;
    const call = { ...contextOf(endpoint), timeouts: { ...timeouts, totalMs } };
    const received = await exchange(pool, request, { ...sizes, signal, totalMs, space });
    if (received.status === null)
      throw noAnswer(call, received.started, received.broken ?? { by: 'wire', error: null });
    const arrived = arrivedOf(call, received);
    if (received.status > 299) throw await badStatus(arrived);
    deprecations.ofAnswer(endpoint, arrived.answerHeaders.deprecation);
    return { endpoint, arrived };
  };

  return {
    unchecked: options.unchecked ?? false,
    check(endpoint, input, sendOptions = {}) {
      check(endpoint, input, sendOptions);
    },
    async send(declared, input, sendOptions = {}) {
      const { endpoint, arrived } = await succeed(declared, input, sendOptions);
      const answer = await readAnswer(endpoint, arrived, maxBytes, input);
      deprecations.ofMisread(endpoint, answer.misread);
      return answer;
    },
    async sendRawList(declared, input, { careful = false, ...sendOptions } = {}) {
      const { endpoint, arrived } = await succeed(declared, input, sendOptions);
      return readRawList(endpoint, arrived, { maxBytes, careful });
    },
    stream: (spec, input, sendOptions = {}, hooks = {}) =>
      new EventStream((facts) => openStream(spec, input, sendOptions, hooks, facts)),
    async close() {
      await Promise.all([pool.destroy(), direct.destroy()]);
    },
  };
}

/** The value of the beta header with the tokens that a request needs, except where a token of the same feature, perhaps a later one, is given. */
function withNeeded(given: readonly (string | undefined)[], needed: readonly string[]): string {
  const tokens = given.flatMap((value) => value?.split(',') ?? []).map((token) => token.trim());
  const featureOf = (token: string) => token.replace(/-\d{4}-\d\d-\d\d$/, '');
  const features = new Set(tokens.map(featureOf));
  return [...new Set([...tokens, ...needed.filter((token) => !features.has(featureOf(token)))])].join(',');
}
