import { Secret } from '../core/connections/secret.js';
import { DEFAULT_BASE_URL } from '../core/connections/service.js';
import { type PageEnvelope, readPage } from '../core/events/page.js';
import { expiredCursor, next, startWalk, WalkError } from '../core/events/walk.js';
import { type Limiter, type RateCost, takeTurn } from '../core/limiter/limiter.js';
import type { Answer } from './answer/read-answer.js';
import { fieldOf } from './checks/field-of.js';
import { blockAfter } from './in-turn.js';
import {
  type ListOperation,
  listOperations,
  type Operations,
  operations,
  type Streams,
  streams,
} from './operations.js';
import type { EventStream } from './stream/chunk-reader.js';
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
  /** Null sends no key. A plain text is wrapped, so that the key is never printed. */
  readonly apiKey: Secret | string | null;
  /** Default {@link DEFAULT_BASE_URL}. */
  readonly baseUrl?: string;
  /** The limiter of the team's rate; each call waits for its turn. The caller closes the limiter. */
  readonly limiter?: Limiter;
}

/** One attempt at an operation. Rejects with `ApiError` for every failure. */
type Call<E> =
  E extends Endpoint<infer I, infer O> ? (input: Input<I>, options?: SendOptions) => Promise<Answer<O>> : never;

/** A streamed answer of an operation; see {@link EventStream}. */
type StreamCall<S> =
  S extends StreamEndpoint<infer I, infer C> ? (input: Input<I>, options?: StreamOptions) => EventStream<C> : never;

type ItemOf<O> = O extends PageEnvelope<infer T> ? T : never;

/** Yields every record of a list over all its pages. Rejects with `WalkError` where no further page can be requested. */
type EachCall<E> =
  E extends Endpoint<infer I, infer O> ? (input: Input<I>, options?: SendOptions) => AsyncGenerator<ItemOf<O>> : never;

/** Functions that iterate over all pages of a list: `for await (const monitor of client.each.listMonitors({}))`. */
export type EachList = { readonly [Name in ListOperation]: EachCall<Operations[Name]> };

/** Every operation as a typed function that makes one attempt and rejects with `ApiError`. */
export type Client = { readonly [Name in keyof Operations]: Call<Operations[Name]> } & {
  readonly [Name in keyof Streams]: StreamCall<Streams[Name]>;
} & {
  readonly each: EachList;
  /** Ends requests in flight and closes all connections. */
  close(): Promise<void>;
};

/** Creates a client that needs no Temporal. Throws `TypeError` for an unusable key, base URL or header. */
export function createClient({ apiKey, baseUrl = DEFAULT_BASE_URL, limiter, ...rest }: ClientOptions): Client {
  const key = typeof apiKey === 'string' ? new Secret(apiKey) : apiKey;
  const transport = createTransport({ ...rest, baseUrl, apiKey: key });

  /** The number of refusals in a row that named no wait. */
  let refusals = 0;

  async function block(error: unknown, rateCost: RateCost): Promise<void> {
    if (!limiter) return;
    const blockedMs = await blockAfter(error, { limiter, rateCost, refusals });
    if (blockedMs !== null && (error as ApiError).facts.retryAfterMs === null) refusals++;
  }

  /** Waits for a turn. A call that is aborted meanwhile is refused as aborted and not sent. */
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
    // The input was checked against the endpoint's types just before.
    const rateCost = rateCostOf(endpoint, input as I);
    await turn(rateCost, options.signal);
    try {
      const answer = await transport.send(endpoint, input, options);
      refusals = 0;
      if (answer.queued) limiter?.queued(rateCost);
      return answer;
    } catch (error) {
      await block(error, rateCost);
      throw error;
    }
  }

  function stream<I, C>(spec: StreamEndpoint<I, C>, input: Input<I>, options: StreamOptions = {}): EventStream<C> {
    // The streamed form sets `stream` itself.
    const { stream: isSet, ...rest } = input as { readonly stream?: unknown };
    const request = (isSet === true ? rest : input) as Input<I>;
    const rateCost = rateCostOf(spec.endpoint, request as I);
    return transport.stream(spec, request, options, {
      beforeSend: () => turn(rateCost, options.signal),
      onError: (error) => block(error, rateCost),
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
 * Turns each row of a table into a function. Types are asserted here only: a mapped type cannot be built row by row.
 * `test/unit/api/operations.test.ts` calls every function.
 */
function bind<F>(table: object, call: (row: never, input: never, options: never) => unknown): F {
  const functions = Object.entries(table).map(([name, row]) => [
    name,
    (input: unknown, options: unknown) => call(row as never, input as never, options as never),
  ]);
  return Object.fromEntries(functions) as F;
}

/**
 * Yields every item of a list over all its pages. The next page is requested only after all items of the current page were taken. Rejects
 * with `WalkError` where the walk of the list cannot continue, and with the errors of `fetchPage`.
 */
async function* eachItem<T>(
  first: string | null,
  fetchPage: (cursor: string | null) => Promise<PageEnvelope<T>>,
): AsyncGenerator<T, void, undefined> {
  let state = startWalk(first);
  // Ids of the previous page. If new items shift the list during the walk, the next page begins with items of the previous page.
  let before: ReadonlySet<unknown> = new Set();
  /** Returns the items of a page. `stuck` is the error if no further page can be requested, otherwise null. */
  const step = (answer: PageEnvelope<T>): { items: readonly T[]; stuck: WalkError | null } => {
    try {
      const { items, state: after } = next(state, answer);
      state = after;
      return { items, stuck: null };
    } catch (error) {
      if (!(error instanceof WalkError) || !/cursor/.test(error.problem)) throw error;
      return { items: readPage(answer)?.items ?? [], stuck: error };
    }
  };
  while (!state.done) {
    let answer: PageEnvelope<T>;
    try {
      answer = await fetchPage(state.cursor);
    } catch (error) {
      throw (error instanceof ApiError && expiredCursor(state, error.facts, error)) || error;
    }
    const { items, stuck } = step(answer);
    const shown = before;
    before = new Set(items.flatMap((item) => fieldOf(item, 'id') ?? []));
    yield* items.filter((item) => !shown.has(fieldOf(item, 'id')));
    if (stuck) throw stuck;
  }
}
