import { z } from 'zod';
import { checkQuery, listQueryOf, Refusal } from '../base/refusal.js';
import { jsonWork, type Route } from '../route.js';
import { eventPage } from '../websets/event-list.js';
import { eventTypes } from '../websets/story.js';

/** A little more than the average size of an event. */
const BYTES_AN_EVENT = 2000;

const time = z.iso
  .datetime({ offset: true })
  .transform((text) => Date.parse(text))
  .optional();
const listQuery = listQueryOf(200, 25, {
  types: z.array(z.enum(eventTypes)).optional(),
  createdAfter: time,
  createdBefore: time,
});

/** `GET /websets/v0/events`: a page of the history. The parameter for types may be repeated; both times are inclusive. */
export const listEvents: Route = (_input, { history }, { query }) => {
  const { limit, cursor, types, createdAfter, createdBefore } = checkQuery(listQuery, query, ['types']);
  return () => {
    const { events, nextCursor } = eventPage(history, {
      limit,
      cursor,
      types: types ? new Set(types) : null,
      after: createdAfter ?? Number.NEGATIVE_INFINITY,
      before: createdBefore ?? Number.MAX_SAFE_INTEGER,
    });
    const answer = new AsciiWriter(1000 + events.length * BYTES_AN_EVENT);
    answer.write('{"data":[');
    for (const [index, event] of events.entries()) {
      answer.write(index > 0 ? `,${history.text(event)}` : history.text(event));
    }
    answer.write(`],"hasMore":${nextCursor !== null},"nextCursor":${JSON.stringify(nextCursor)}}`);
    return { body: answer.finish() };
  };
};

/** `GET /websets/v0/events/{id}`. */
export const getEvent: Route =
  (_input, { history }, { params }) =>
  () => {
    const event = history.find(params.id as string);
    if (event === null) throw new Refusal(404, 'NOT_FOUND', `There is no event ${params.id}`);
    return jsonWork(history.record(event));
  };

/** Writes an answer from several ASCII texts. Joining the texts first would copy them once more. */
class AsciiWriter {
  #bytes: Buffer;
  #at = 0;

  /** `size`: initial bytes; the buffer grows. */
  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafe(size);
  }

  write(text: string): void {
    if (this.#at + text.length > this.#bytes.length) this.#grow(text.length);
    this.#at += this.#bytes.write(text, this.#at, 'latin1');
  }

  /** All written bytes. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  #grow(least: number): void {
    const larger = Buffer.allocUnsafe(this.#bytes.length * 2 + least);
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
