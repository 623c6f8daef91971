import type { IncomingHttpHeaders } from 'node:http';
import { type ZodType, z } from 'zod';
import { readAnswer } from '../answer/read-answer.js';
import { header, readAnswerHeaders } from '../wire/answer-headers.js';
import { badStatus, type CallContext, cutShort, lostReason, noAnswer, unusable } from '../wire/call-failure.js';
import { decodeBody, UnreadableBody } from '../wire/decode-body.js';
import { plainCause, StreamDropped } from '../wire/errors.js';
import type { ChooseSink, Exchange } from '../wire/exchange.js';
import { ChunkReader } from './chunk-reader.js';
import type { StreamFacts } from './event-stream.js';
import { PieceQueue } from './piece-queue.js';
import type { StreamEndpoint } from './stream-endpoint.js';

/** Sizes of a stream: all of it in bytes, one event in characters. */
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
 * Reads one streamed answer to its end. Ends in order only where the stream said so (`[DONE]`, a terminal event, or the
 * connection's end where that counts); rejects with `StreamDropped` where it broke off, with `ApiError` otherwise.
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
  }).finally(() => queue.close());

  for (let piece = await queue.take(); piece !== null; piece = await queue.take()) {
    yield* reader.feed(piece);
    if (reader.ending === 'now') return;
  }
  const came = await sent;
  if (came.status === null) throw noAnswer(call, came.started, came.broken ?? { by: 'wire', error: null });
  const said = readAnswerHeaders(came.headers, Date.now(), call.redact);
  if (came.status > 299) throw await badStatus(call, came, came.status, said);
  if (!isEventStream(came.headers)) {
    // The service streams only where it has something to write; else it answers as without a stream.
    const asWhole = { ...spec.endpoint, response: whole, variants: {} };
    const answer = await readAnswer<I, object>(asWhole, call, came, said, limits.maxBytes);
    Object.assign(facts, { requestId: answer.requestId, costMicros: answer.costMicros });
    yield reader.whole(answer.data);
    return;
  }
  // Encoded although we asked for plain text: readable at its end only.
  if (!isPlain(came.headers)) yield* reader.feed(await decoded(call, came, limits.maxBytes));
  if (came.broken === null) yield* reader.end();

  const { ending } = reader;
  if (ending === 'now' || ending === 'complete') return;
  if (came.broken === null && (ending === 'onClose' || spec.endsWithConnection)) return;
  if (came.broken?.by === 'size') throw reader.misshapen(`the stream is larger than ${limits.maxBytes} bytes`);
  const parts = reader.error({
    facts: { phase: 'sent', status: 200, tag: null, retryAfterMs: null, truncated: true },
    reason: came.broken ? lostReason(call, came.broken) : 'the stream broke off before its end',
    aborted: came.broken?.by === 'caller',
    cause: plainCause(came.broken?.error, call.redact),
  });
  throw new StreamDropped(parts, facts.lastEventId);
}

/** The whole of an encoded stream. */
async function decoded(call: CallContext, came: Exchange, maxBytes: number): Promise<Buffer> {
  const said = readAnswerHeaders(came.headers, Date.now(), call.redact);
  if (came.broken) throw cutShort(call, came, said, came.broken);
  try {
    return await decodeBody(came.body, header(came.headers, 'content-encoding'), maxBytes);
  } catch (error) {
    if (!(error instanceof UnreadableBody)) throw error;
    const kind = error.kind === 'refused' ? 'wrongShape' : 'truncated';
    throw unusable(call, came, said, { kind, reason: error.message, error: error.cause, kept: came.body });
  }
}
