import type { PageEnvelope } from '../core/events/walk.js';
import { type Limiter, type RateCost, takeTurn } from '../core/limiter/limiter.js';
import { MAX_BLOCK_MS } from '../core/limiter/rate.js';
import { blockMs } from '../core/purchase/backoff.js';
import { Secret } from '../core/text/secret.js';
import { DEFAULT_BASE_URL } from '../core/text/service.js';
import { eachItem } from './answer/each-item.js';
import type { Answer } from './answer/read-answer.js';
import {
  type ListOperation,
  listOperations,
  type Operations,
  operations,
  type Streams,
  streams,
} from './operations.js';
import type { EventStream } from './stream/event-stream.js';
import type { StreamEndpoint } from './stream/stream-endpoint.js';
import {
  createTransport,
  type Input,
  type SendOptions,
  type StreamOptions,
  type TransportOptions,
} from './transport.js';
import { type Endpoint, rateCostOf } from './wire/endpoint.js';
import { ApiError } from './wire/errors.js';

export interface ClientOptions extends Omit<TransportOptions, 'apiKey' | 'baseUrl'> {
  /** Null calls without a key. A plain text is wrapped, so that it prints nowhere. */
  readonly apiKey: Secret | string | null;
  /** Default {@link DEFAULT_BASE_URL}. */
  readonly baseUrl?: string;
  /** Holds the team's rate; each call then waits for its turn. Stays the caller's to close. */
  readonly limiter?: Limiter;
}

/** One attempt at an operation. Rejects with `ApiError`, whatever went wrong. */
type Call<E> =
  E extends Endpoint<infer I, infer O> ? (input: Input<I>, options?: SendOptions) => Promise<Answer<O>> : never;

/** An operation's answer as it comes; see {@link EventStream}. */
type StreamCall<S> =
  S extends StreamEndpoint<infer I, infer C> ? (input: Input<I>, options?: StreamOptions) => EventStream<C> : never;

type ItemOf<O> = O extends PageEnvelope<infer T> ? T : never;

/** Every record of a list, page after page as they are needed. Rejects with `WalkError` where the list can't be walked on. */
type EachCall<E> =
  E extends Endpoint<infer I, infer O> ? (input: Input<I>, options?: SendOptions) => AsyncGenerator<ItemOf<O>> : never;

/** The lists over all their pages: `for await (const monitor of client.each.listMonitors({}))`. */
export type EachList = { readonly [Name in ListOperation]: EachCall<Operations[Name]> };

/** Every operation as a plain function: one attempt, typed in and out, `ApiError` where it fails. */
export type Client = { readonly [Name in keyof Operations]: Call<Operations[Name]> } & {
  readonly [Name in keyof Streams]: StreamCall<Streams[Name]>;
} & {
  readonly each: EachList;
  /** Cuts what is in flight and closes every connection. */
  close(): Promise<void>;
};

/** Makes a client that needs no Temporal. Throws `TypeError` where key, base URL or headers can't be used. */
export function createClient({ apiKey, baseUrl = DEFAULT_BASE_URL, limiter, ...rest }: ClientOptions): Client {
  const key = typeof apiKey === 'string' ? new Secret(apiKey) : apiKey;
  const transport = createTransport({ ...rest, baseUrl, apiKey: key });

  /** Refusals in a row that didn't say how long to wait. */
  let strikes = 0;

  /** The service's word holds for everybody who shares the limiter. */
  async function obey(error: unknown, rateCost: RateCost): Promise<void> {
    if (!limiter || !(error instanceof ApiError) || !error.verdict.blocks) return;
    const ms = error.facts.retryAfterMs ?? blockMs(strikes++, Math.random());
    await limiter.block(Math.min(ms, MAX_BLOCK_MS), error.message, rateCost);
  }

  /** Waits for a turn. A call that was aborted meanwhile goes on to be refused as such, unsent. */
  async function turn(rateCost: RateCost, signal: AbortSignal | undefined): Promise<void> {
    if (!limiter || signal?.aborted) return;
    try {
      await takeTurn(limiter, rateCost, signal);
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  }

  async function call<I, O>(endpoint: Endpoint<I, O>, input: Input<I>, options: SendOptions = {}): Promise<Answer<O>> {
    transport.check(endpoint, input, options);
    // Checked against the endpoint's types just before.
    const rateCost = rateCostOf(endpoint, input as I);
    await turn(rateCost, options.signal);
    try {
      const answer = await transport.send(endpoint, input, options);
      strikes = 0;
      if (answer.queued) limiter?.queued(rateCost);
      return answer;
    } catch (error) {
      await obey(error, rateCost);
      throw error;
    }
  }

  function stream<I, C>(spec: StreamEndpoint<I, C>, input: Input<I>, options: StreamOptions = {}): EventStream<C> {
    const rateCost = rateCostOf(spec.endpoint, input as I);
    return transport.stream(spec, input, options, {
      beforeSend: () => turn(rateCost, options.signal),
      onError: (error) => obey(error, rateCost),
    });
  }

  function each<I extends { readonly cursor?: string | null | undefined }, T>(
    endpoint: Endpoint<I, PageEnvelope<T>>,
    input: I,
    options?: SendOptions,
  ): AsyncGenerator<T> {
    return eachItem(input.cursor ?? null, async (cursor) => (await call(endpoint, { ...input, cursor }, options)).data);
  }

  return {
    ...bind<Pick<Client, keyof Operations>>(operations, call),
    ...bind<Pick<Client, keyof Streams>>(streams, stream),
    each: bind<EachList>(Object.fromEntries(listOperations.map((name) => [name, operations[name]])), each),
    close: () => transport.close(),
  };
}

/**
 * Makes a function of each row of a table. The one place where types are claimed instead of proven: a mapped type can't be
 * built row by row. `test/api/operations.test.ts` calls every function.
 */
function bind<F>(table: object, call: (row: never, input: never, options: never) => unknown): F {
  const functions = Object.entries(table).map(([name, row]) => [
    name,
    (input: unknown, options: unknown) => call(row as never, input as never, options as never),
  ]);
  return Object.fromEntries(functions) as F;
}
