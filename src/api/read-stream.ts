import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { toMicros } from '../core/money.js';
import { header, readAnswerHeaders } from './answer-headers.js';
import { badStatus, type CallContext, lostReason, noAnswer } from './call-failure.js';
import { decodeBody } from './decode-body.js';
import { ApiError, type ApiErrorParts, plainCause, StreamDropped } from './errors.js';
import type { StreamFacts } from './event-stream.js';
import type { ChooseSink, Exchange } from './exchange.js';
import { fieldOf } from './field-of.js';
import { PieceQueue } from './piece-queue.js';
import { readAnswer } from './read-answer.js';
import { oneLine } from './redact.js';
import { isShape, shapeProblem } from './shape.js';
import { createSseReader, EventTooLarge, type SseEvent } from './sse.js';
import type { Ending, StreamEndpoint, StreamFailure } from './stream-endpoint.js';

/** Sizes of a stream: all of it in bytes, one event in characters. */
export interface StreamLimits {
  readonly maxBytes: number;
  readonly maxEvent: number;
}

const whole: z.ZodType<object> = z.looseObject({});

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
  const reader = createSseReader(limits.maxEvent);
  let streaming = false;
  let ending: Ending | null = null;

  const failed = (parts: Partial<ApiErrorParts>): ApiErrorParts => ({
    endpoint: call.endpoint,
    facts: { phase: 'answer', status: 200, tag: null, retryAfterMs: null },
    requestId: facts.requestId,
    ...parts,
  });
  const misshapen = (reason: string, body: string): ApiError =>
    new ApiError(
      failed({
        facts: { phase: 'answer', status: 200, tag: null, retryAfterMs: null, wrongShape: true },
        reason,
        body: call.redact(body),
      }),
    );

  /** A chunk of the right shape, told to `facts`; throws what the chunk says went wrong. */
  const accept = (chunk: unknown, text: string): C => {
    if (!isShape(spec.chunk, chunk)) {
      const { field, message } = shapeProblem(spec.chunk, chunk);
      const where = `the stream has a chunk of the wrong shape (section ${spec.section})`;
      throw misshapen(`${where}: ${field || 'the whole'}: ${message}`, text);
    }
    const failure = spec.failure(chunk);
    if (failure) throw new ApiError(failed(failureParts(failure, call)));
    facts.costMicros = costOf(chunk) ?? facts.costMicros;
    facts.requestId ??= requestIdOf(chunk, call);
    ending = spec.ending(chunk) ?? ending;
    return chunk;
  };
  /** Null: the event says just that the stream ends. */
  const toChunk = (event: SseEvent): C | null => {
    if (event.id !== null) facts.lastEventId = event.id;
    if (event.data.trim() === '[DONE]') {
      ending = 'now';
      return null;
    }
    return accept(spec.toChunk(event, parsed(event.data)), event.data);
  };
  const feed = (read: () => readonly SseEvent[]): readonly SseEvent[] => {
    try {
      return read();
    } catch (error) {
      if (error instanceof EventTooLarge) throw misshapen(error.message, '');
      throw error;
    }
  };

  const sent = send((status, headers) => {
    if (status > 299 || !isEventStream(headers)) return null;
    facts.requestId = readAnswerHeaders(headers, Date.now(), call.redact).requestId;
    streaming = isPlain(headers);
    return streaming ? queue : null;
  }).then((came) => {
    queue.close();
    return came;
  });

  for (let piece = await queue.take(); piece !== null; piece = await queue.take()) {
    const bytes = piece;
    for (const event of feed(() => reader.feed(bytes))) {
      const chunk = toChunk(event);
      if (chunk !== null) yield chunk;
      if (ending === 'now') return;
    }
  }

  const came = await sent;
  if (came.status === null) throw noAnswer(call, came.started, came.broken ?? { by: 'wire', error: null });
  const said = readAnswerHeaders(came.headers, Date.now(), call.redact);
  if (came.status > 299) throw await badStatus(call, came, came.status, said);
  if (!isEventStream(came.headers)) {
    // The service streams only where it has something to write; else it answers as without a stream.
    const answer = await readAnswer<I, object>(
      { ...spec.endpoint, response: whole, variants: {} },
      call,
      came,
      said,
      limits.maxBytes,
    );
    Object.assign(facts, { requestId: answer.requestId, costMicros: answer.costMicros });
    yield accept(spec.ofWhole(answer.data), JSON.stringify(answer.data));
    return;
  }
  if (!streaming) {
    // Encoded although we asked for plain text: readable at its end only.
    const encoding = header(came.headers, 'content-encoding');
    const body = await decodeBody(came.body, encoding, limits.maxBytes).catch(() => Buffer.alloc(0));
    for (const event of feed(() => reader.feed(body))) {
      const chunk = toChunk(event);
      if (chunk !== null) yield chunk;
      if (ending === 'now') return;
    }
  }
  if (came.broken === null) {
    // A last event without its empty line counts where it is whole; a half one tells that the stream was cut.
    for (const event of feed(() => reader.end())) {
      if (event.data.trim() !== '[DONE]' && !isShape(spec.chunk, spec.toChunk(event, parsed(event.data)))) continue;
      const chunk = toChunk(event);
      if (chunk !== null) yield chunk;
    }
  }
  if (ending === 'now' || ending === 'complete') return;
  if (came.broken === null && (ending === 'onClose' || spec.endsWithConnection)) return;
  if (came.broken?.by === 'size') {
    throw misshapen(`the stream is larger than ${limits.maxBytes} bytes`, '');
  }
  const reason = came.broken ? lostReason(call, came.broken) : 'the stream broke off before its end';
  throw new StreamDropped(
    failed({
      facts: { phase: 'sent', status: 200, tag: null, retryAfterMs: null, truncated: true },
      reason,
      aborted: came.broken?.by === 'caller',
      cause: plainCause(came.broken?.error, call.redact),
    }),
    facts.lastEventId,
  );
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}

/** An error chunk without a status of its own is an answer that broke off: it may have been charged. */
function failureParts({ message, status, tag }: StreamFailure, call: CallContext): Partial<ApiErrorParts> {
  const known = status !== null && Number.isInteger(status) && status >= 400 && status <= 599;
  return {
    facts: {
      phase: known ? 'answer' : 'sent',
      status: known ? status : 200,
      tag: tag === null ? null : oneLine(call.redact(tag), 200),
      retryAfterMs: null,
      ...(known ? {} : { truncated: true }),
    },
    reason: 'the stream ended with an error',
    serverMessage: message === null ? null : oneLine(call.redact(message), 300),
  };
}

function costOf(chunk: unknown): number | null {
  const cost = fieldOf(chunk, 'costDollars') ?? fieldOf(fieldOf(chunk, 'data'), 'costDollars');
  return toMicros(fieldOf(cost, 'total'));
}

function requestIdOf(chunk: unknown, call: CallContext): string | null {
  const id = fieldOf(chunk, 'requestId');
  return typeof id === 'string' ? oneLine(call.redact(id), 200) || null : null;
}
