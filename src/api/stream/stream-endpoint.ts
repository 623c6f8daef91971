import type { ZodType } from 'zod';
import type { Json } from '../../core/text/json.js';
import type { Endpoint } from '../wire/endpoint.js';
import type { SseEvent } from './sse.js';

/**
 * The end that a chunk announces. `now`: this chunk is the last. `complete`: all chunks have come, however the connection ends. `onClose`:
 * all chunks have come if the connection then closes in order.
 */
export type StreamEnding = 'now' | 'complete' | 'onClose';

/** The streamed form of an operation (`text/event-stream`). */
export interface StreamEndpoint<I, C> {
  /** Name of the function, such as `streamSearch`. */
  readonly name: string;
  readonly endpoint: Endpoint<I, unknown>;
  /** The body fields that request a stream; empty where the `Accept` header requests the stream. */
  readonly ask: Readonly<Record<string, Json>>;
  /** Types of the known fields of a chunk. */
  readonly chunk: ZodType<C>;
  /** Turns an event into a chunk; `data` is the JSON of the event, or the text of the event where the text is not JSON. */
  readonly toChunk: (event: SseEvent, data: unknown) => unknown;
  /** Whether a chunk is of a known kind; such a chunk must fit the schema `chunk`. */
  readonly knows: (chunk: unknown) => boolean;
  /** Turns an event of an unknown kind into a chunk. */
  readonly ofUnknown: (event: SseEvent, data: unknown) => C;
  /** Turns a JSON body, sent instead of a stream, into the one chunk. */
  readonly ofWhole: (body: object) => unknown;
  readonly ending: (chunk: C) => StreamEnding | null;
  /** Whether the orderly end of the connection always ends the stream. */
  readonly endsWithConnection: boolean;
}
