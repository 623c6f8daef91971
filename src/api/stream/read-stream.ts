import type { IncomingHttpHeaders } from 'node:http';
import { PassThrough } from 'node:stream';
import { type ZodType, z } from 'zod';
import { readAnswer, wholeBody } from '../answer/read-answer.js';
import {
  arrivedOf,
  badStatus,
  type CallContext,
  header,
  lostReason,
  noAnswer,
  readAnswerHeaders,
} from '../wire/call-failure.js';
import { plainCause, StreamDropped } from '../wire/errors.js';
import type { BodySink, ChooseSink, Exchange } from '../wire/exchange.js';
import type { StreamFacts } from './chunk-reader.js';
import { ChunkReader } from './chunk-reader.js';
import type { StreamEndpoint } from './stream-endpoint.js';

/** Limits of a stream: its total bytes, and the characters of one event. */
export interface StreamLimits {
  readonly maxBytes: number;
  readonly maxEvent: number;
}

const whole: ZodType<object> = z.looseObject({});

function isEventStream(headers: IncomingHttpHeaders): boolean {
  return /^\s*text\/event-stream\b/i.test(header(headers, 'content-type') ?? '');
}

function isPlain(headers: IncomingHttpHeaders): boolean {
  return /^(\s*identity\s*)?$/i.test(header(headers, 'content-encoding') ?? '');
}

/**
 * Reads one streamed answer to its end. The stream is complete after `[DONE]` or a terminal event; the end of the connection completes the
 * stream only if the last chunks allow this (see `Ending`). Rejects with `StreamDropped` if the stream broke off, and with `ApiError` for
 * every other failure.
 */
export async function* readStream<I, C>(
  spec: StreamEndpoint<I, C>,
  call: CallContext,
  limits: StreamLimits,
  facts: StreamFacts,
  send: (choose: ChooseSink) => Promise<Exchange>,
): AsyncGenerator<C, void, undefined> {
  const queue = new PieceQueue();
  const reader = new ChunkReader(spec, call, limits.maxEvent, facts);
  const sent = send((status, headers) => {
    if (status > 299 || !isEventStream(headers)) return null;
    facts.requestId = readAnswerHeaders(headers, Date.now(), call.redact).requestId;
    return isPlain(headers) ? queue : null;
  }).finally(() => queue.pieces.end());

  for await (const piece of queue.pieces as AsyncIterable<Buffer>) {
    yield* reader.feed(piece);
    if (reader.ending === 'now') return;
  }
  const received = await sent;
  if (received.status === null) throw noAnswer(call, received.started, received.broken ?? { by: 'wire', error: null });
  const arrived = arrivedOf(call, received);
  if (received.status > 299) throw await badStatus(arrived);
  if (!isEventStream(received.headers)) {
    // The service streams only some answers; other answers come as one body.
    const asWhole = { ...spec.endpoint, response: whole };
    const answer = await readAnswer<I, object>(asWhole, arrived, limits.maxBytes);
    Object.assign(facts, { requestId: answer.requestId, costMicros: answer.costMicros });
    yield reader.whole(answer.data);
    return;
  }
  // The request asked for no encoding. A stream that is encoded anyway can be decoded only after its end.
  if (!isPlain(received.headers)) yield* reader.feed(await wholeBody(arrived, limits.maxBytes));
  if (received.broken === null) yield* reader.end();

  const { ending } = reader;
  if (ending === 'now' || ending === 'complete') return;
  if (received.broken === null && (ending === 'onClose' || spec.endsWithConnection)) return;
  if (received.broken?.by === 'size') throw reader.misshapen(`the stream is larger than ${limits.maxBytes} bytes`);
  const parts = reader.error({
    facts: { phase: 'sent', status: 200, tag: null, retryAfterMs: null, truncated: true },
    reason: received.broken ? lostReason(call, received.broken) : 'the stream broke off before its end',
    aborted: received.broken?.by === 'caller',
    cause: plainCause(received.broken?.error, call.redact),
  });
  throw new StreamDropped(parts, facts.lastEventId);
}

/** Bytes of an answer that may wait for the reader before the connection pauses. */
const HIGH = 1_048_576;

/** The pieces of a body on their way from the connection to the reader. */
class PieceQueue implements BodySink {
  readonly pieces = new PassThrough({ highWaterMark: HIGH });

  push(piece: Buffer, flow: { pause(): void; resume(): void }): void {
    if (this.pieces.destroyed || this.pieces.write(piece)) return;
    flow.pause();
    this.pieces.once('drain', () => flow.resume());
  }
}
