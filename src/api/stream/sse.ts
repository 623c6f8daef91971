import { createParser } from 'eventsource-parser';

/** One server-sent event as it came. Comments and keep-alives are none. */
export interface SseEvent {
  readonly id: string | null;
  readonly event: string | null;
  readonly data: string;
}

/** An event that is larger than we keep. */
export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge';
}

/** Reads the bytes of an event stream, cut anywhere, also within a character. */
export interface SseReader {
  /** The events that these bytes complete. Throws {@link EventTooLarge}. */
  feed(bytes: Uint8Array): readonly SseEvent[];
  /** The event that the end of the stream left without its empty line, if any: it may not be whole. */
  end(): readonly SseEvent[];
}

/** Makes a reader of one stream; `maxEvent` bounds what it holds of an unfinished event, in characters. */
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
