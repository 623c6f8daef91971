import { createHash } from 'node:crypto';
import { toMicros } from '../../core/text/money.js';
import { fieldOf, textOf } from '../checks/field-of.js';
import { nestsDeeper } from '../checks/nesting.js';
import { oneLine } from '../checks/redact.js';
import { hasKnownField, isShape, shapeProblem } from '../checks/shape.js';
import type { CallContext } from '../wire/call-failure.js';
import { readErrorEnvelope } from '../wire/error-envelope.js';
import { ApiError, type ApiErrorParts } from '../wire/errors.js';
import { createSseReader, EventTooLarge, type SseEvent } from './sse.js';
import type { StreamEnding, StreamEndpoint } from './stream-endpoint.js';

/** Number of the latest events that are kept to recognize a repeated event. */
const MAX_SEEN = 1000;

/** Turns the bytes of one stream into chunks and collects the facts of the stream. Every method throws `ApiError`. */
export class ChunkReader<I, C> {
  /** The end that the chunks so far announce. */
  ending: StreamEnding | null = null;
  readonly #spec: StreamEndpoint<I, C>;
  readonly #call: CallContext;
  readonly #facts: StreamFacts;
  readonly #reader;
  /** The latest events with an id. */
  readonly #seen = new Set<string>();

  /** `maxEvent` bounds one event, in characters. */
  constructor(spec: StreamEndpoint<I, C>, call: CallContext, maxEvent: number, facts: StreamFacts) {
    this.#spec = spec;
    this.#call = call;
    this.#facts = facts;
    this.#reader = createSseReader(maxEvent);
  }

  /** Yields the chunks that these bytes complete, up to the chunk that ends the stream. */
  *feed(bytes: Uint8Array): Generator<C, void, undefined> {
    yield* this.#chunksOf(this.#bounded(() => this.#reader.feed(bytes)));
  }

  /** Yields the last event of a stream that ended without an empty line, if that event is complete. An incomplete event is dropped. */
  *end(): Generator<C, void, undefined> {
    const whole = ({ data }: SseEvent, chunk: unknown): boolean => isDone(data) || isShape(this.#spec.chunk, chunk);
    const events = this.#bounded(() => this.#reader.end());
    yield* this.#chunksOf(events.filter((event) => whole(event, this.#spec.toChunk(event, parsed(event.data)))));
  }

  /** Returns the one chunk of an answer that was not streamed. */
  whole(body: object): C {
    if (reportsError(null, body) && !hasKnownField(this.#spec.endpoint.response, body)) throw this.#failed(body);
    return this.#accept(this.#spec.ofWhole(body), () => JSON.stringify(body));
  }

  /** Returns the parts of an error that came with a successful status. */
  error(parts: Partial<ApiErrorParts>): ApiErrorParts {
    const facts = { phase: 'answer', status: 200, tag: null, retryAfterMs: null } as const;
    return { endpoint: this.#call.endpoint, facts, requestId: this.#facts.requestId, ...parts };
  }

  misshapen(reason: string, kept = ''): ApiError {
    const facts = { phase: 'answer', status: 200, tag: null, retryAfterMs: null, wrongShape: true } as const;
    return new ApiError(this.error({ facts, reason, body: this.#call.redact(kept) }));
  }

  *#chunksOf(events: readonly SseEvent[]): Generator<C, void, undefined> {
    for (const event of events) {
      if (this.#isRepeated(event)) continue;
      if (event.id !== null) this.#facts.lastEventId = event.id;
      if (isDone(event.data)) this.ending = 'now';
      else if (event.data !== '') yield this.#chunkOf(event);
      if (this.ending === 'now') return;
    }
  }

  /** Whether an event with the same id and data came shortly before. */
  #isRepeated({ id, data }: SseEvent): boolean {
    if (id === null) return false;
    const event = `${id}\n${createHash('sha256').update(data).digest('base64')}`;
    if (this.#seen.has(event)) return true;
    this.#seen.add(event);
    const [first] = this.#seen;
    if (this.#seen.size > MAX_SEEN) this.#seen.delete(first as string);
    return false;
  }

  /** Returns an event as a chunk; throws the failure that the event reports. An event of an unknown kind is passed on in any shape. */
  #chunkOf(event: SseEvent): C {
    const { toChunk, chunk: schema, knows, ofUnknown } = this.#spec;
    const data = parsed(event.data);
    const chunk = toChunk(event, data);
    const isNamed = event.event !== null && event.event !== 'message';
    if (reportsError(event.event, isNamed ? chunk : data)) throw this.#failed(data);
    if (!knows(chunk) && !isShape(schema, chunk)) return ofUnknown(event, data);
    return this.#accept(chunk, () => event.data);
  }

  #failed(data: unknown): ApiError {
    return new ApiError(this.error(failureParts(data, this.#call)));
  }

  /** Records the facts of a chunk of the right shape. */
  #accept(chunk: unknown, text: () => string): C {
    if (!isShape(this.#spec.chunk, chunk)) {
      const { field, message } = shapeProblem(this.#spec.chunk, chunk);
      const where = `the stream has a chunk of the wrong shape`;
      throw this.misshapen(`${where}: ${field || 'the whole'}: ${message}`, text());
    }
    this.#facts.requestId ??= requestIdOf(chunk, this.#call);
    this.#facts.costMicros = costOf(chunk) ?? this.#facts.costMicros;
    this.ending = this.#spec.ending(chunk) ?? this.ending;
    return chunk;
  }

  #bounded(read: () => readonly SseEvent[]): readonly SseEvent[] {
    try {
      return read();
    } catch (error) {
      if (error instanceof EventTooLarge) throw this.misshapen(error.message);
      throw error;
    }
  }
}

function isDone(data: string): boolean {
  return data.trim() === '[DONE]';
}

function parsed(data: string): unknown {
  if (nestsDeeper(data)) return data;
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}

/**
 * Whether an event reports an error: by its name, the `type` or `tag` of its fields, or an `error` in fields of no type. The fields of an
 * event with a name are those of its chunk, because the data of a run has errors of its own.
 */
function reportsError(event: string | null, fields: unknown): boolean {
  const type = fieldOf(fields, 'type') ?? null;
  if ([event, type].some((name) => /^error$/i.test(textOf(name))) || fieldOf(fields, 'tag') === 'ERROR') return true;
  return type === null && Boolean(fieldOf(fields, 'error'));
}

/**
 * An error without a status counts as an answer that broke off: the request may have been charged. The error is a text, or the fields of an
 * error envelope, with the HTTP status as a number in `code`; an event may have them in `payload` or `data`. `tag: ERROR` is a kind of event.
 */
function failureParts(data: unknown, { redact }: CallContext): Partial<ApiErrorParts> {
  const { tag: kind, payload, data: nested, ...fields } = Object(data) as Readonly<Record<string, unknown>>;
  const inside = payload ?? nested;
  const inner = typeof inside === 'object' || inside === undefined ? inside : { error: inside };
  const failure = typeof data === 'object' ? { tag: kind === 'ERROR' ? undefined : kind, ...fields, ...inner } : data;
  const text = textOf(failure);
  const { tag, message, requestId } = readErrorEnvelope(text, redact);
  const status = fieldOf(fieldOf(failure, 'error'), 'code') ?? fieldOf(failure, 'code');
  const known = typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599;
  const shared = { tag, retryAfterMs: null };
  return {
    facts: known ? { phase: 'answer', status, ...shared } : { phase: 'sent', status: 200, ...shared, truncated: true },
    reason: 'the stream ended with an error',
    serverMessage: message,
    requestId: requestId ?? undefined,
  };
}

function costOf(chunk: unknown): number | null {
  const cost = fieldOf(chunk, 'costDollars') ?? fieldOf(fieldOf(chunk, 'data'), 'costDollars');
  return toMicros(fieldOf(cost, 'total'));
}

function requestIdOf(chunk: unknown, { redact }: CallContext): string | null {
  const id = fieldOf(chunk, 'requestId');
  return typeof id === 'string' ? oneLine(redact(id), 200) || null : null;
}

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
