/** What a stream has told so far beside its chunks. */
export interface StreamFacts {
  /** The service's id of the request, from the moment the stream began. */
  requestId: string | null;
  /** Id of the latest event that had one: where a replay goes on. */
  lastEventId: string | null;
  /** Cost of the request in micro-dollars, from the moment a chunk told it (`costDollars.total`). */
  costMicros: number | null;
}

/**
 * A streamed answer as an async iterator. The request is sent when the first chunk is asked for; leaving the loop cuts the
 * connection. It can be read once.
 */
export class EventStream<C> implements AsyncIterable<C>, Readonly<StreamFacts> {
  readonly #facts: StreamFacts = { requestId: null, lastEventId: null, costMicros: null };
  readonly #chunks: AsyncGenerator<C, void, undefined>;

  constructor(read: (facts: StreamFacts) => AsyncGenerator<C, void, undefined>) {
    this.#chunks = read(this.#facts);
  }

  get requestId(): string | null {
    return this.#facts.requestId;
  }

  get lastEventId(): string | null {
    return this.#facts.lastEventId;
  }

  get costMicros(): number | null {
    return this.#facts.costMicros;
  }

  [Symbol.asyncIterator](): AsyncGenerator<C, void, undefined> {
    return this.#chunks;
  }
}
