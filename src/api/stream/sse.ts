import { createParser } from 'eventsource-parser';

/** One server-sent event. Comments and keep-alives are not events. */
export interface SseEvent {
  readonly id: string | null;
  readonly event: string | null;
  readonly data: string;
}

/** An event above the size limit. */
export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge';
}

/** Creates the reader of one stream; `maxEvent` bounds an event, in characters. */
export function createSseReader(maxEvent: number) {
  const decoder = new TextDecoder();
  let found: SseEvent[] = [];
  let large = false;
  const parser = createParser({
    maxBufferSize: maxEvent,
    onEvent: ({ id, event, data }) => {
      large ||= data.length > maxEvent;
      found.push({ id: id ?? null, event: event ?? null, data });
    },
    onError: ({ type }) => {
      large ||= type === 'max-buffer-size-exceeded';
    },
  });
  const read = (text: string): readonly SseEvent[] => {
    found = [];
    parser.feed(text);
    if (large) throw new EventTooLarge(`an event of the stream is larger than ${maxEvent} characters`);
    return found;
  };
  return {
    /** Returns the events that these bytes complete. Throws {@link EventTooLarge}. */
    feed: (bytes: Uint8Array) => read(decoder.decode(bytes, { stream: true })),
    /** Returns the last event if the empty line after it is missing; that event may be incomplete. */
    end: () => read(`${decoder.decode()}\n\n`),
  };
}
