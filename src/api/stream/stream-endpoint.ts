import type { ZodType } from 'zod';
import type { Json } from '../../core/text/json.js';
import type { Endpoint } from '../wire/endpoint.js';
import type { SseEvent } from './sse.js';

/**
 * What a chunk says about the end. `now`: nothing comes behind it. `complete`: everything has come, however the connection ends.
 * `onClose`: all has come where the connection then ends in order.
 */
export type Ending = 'now' | 'complete' | 'onClose';

/** An error that came as a chunk, behind status 200. */
export interface StreamFailure {
  readonly message: string | null;
  /** HTTP status that the chunk itself names, if any. */
  readonly status: number | null;
  readonly tag: string | null;
}

/** The streamed form of an operation (`text/event-stream`). */
export interface StreamEndpoint<I, C> {
  /** Name of the function, such as `streamSearch`. */
  readonly name: string;
  readonly section: string;
  readonly endpoint: Endpoint<I, unknown>;
  /** What asks for the stream in the body; empty where the `Accept` header does. */
  readonly ask: Readonly<Record<string, Json>>;
  /** Types of the fields of a chunk that are known. */
  readonly chunk: ZodType<C>;
  /** Makes a chunk of an event; `data` is parsed where it is JSON, else its text. */
  readonly toChunk: (event: SseEvent, data: unknown) => unknown;
  /** Whether a chunk is of a kind that is known: then it must have the shape. */
  readonly knows: (chunk: unknown) => boolean;
  /** Makes a chunk of an event of another kind whose fields don't fit. */
  readonly ofUnknown: (event: SseEvent, data: unknown) => C;
  /** Makes the one chunk of a service that answered with a whole JSON body instead of a stream. */
  readonly ofWhole: (body: object) => unknown;
  readonly ending: (chunk: C) => Ending | null;
  /** The connection's orderly end is the stream's, whatever was said. */
  readonly endsWithConnection: boolean;
  readonly failure: (chunk: C) => StreamFailure | null;
}
