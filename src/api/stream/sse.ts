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

/** Reads the bytes of an event stream in pieces of any size, which may split a character. */
export interface SseReader {
  /** Returns the events that these bytes complete. Throws {@link EventTooLarge}. */
  feed(bytes: Uint8Array): readonly SseEvent[];
  /** Returns the last event if the empty line after it is missing; that event may be incomplete. */
  end(): readonly SseEvent[];
}

/** Creates the reader of one stream; `maxEvent` bounds an event, in characters. */
export function createSseReader(maxEvent: number): SseReader {
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
    feed: (bytes) => read(decoder.decode(bytes, { stream: true })),
    end: () => read(`${decoder.decode()}\n\n`),
  };
}
