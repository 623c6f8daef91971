/** What is known of a stream so far, apart from its chunks. */
export interface StreamFacts {
  /** The service's id of the request, from the start of the stream. */
  requestId: string | null;
  /** Id of the latest event with an id. A replay continues after that event. */
  lastEventId: string | null;
  /** Cost of the request in micro-dollars, once a chunk has `costDollars.total`. */
  costMicros: number | null;
}

/**
 * A streamed answer as an async iterator. The request is sent when the first chunk is read; leaving the loop closes the connection. A
 * stream can be read only once.
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
