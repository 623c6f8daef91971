import type { ServerResponse } from 'node:http';
import type { FaultDo } from '../base/fault.js';
import { type Frames, KEEP_ALIVE_FRAME, sseFrame } from '../route.js';
import type { Timers } from '../world.js';

/** An answer, ready to be sent: its body, or the frames of a stream. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | Frames;
}

type Of<Kind extends FaultDo['kind']> = Extract<FaultDo, { readonly kind: Kind }>;
type FrameSource = AsyncIterable<string> | Iterable<string>;
/** Waits for some milliseconds, or until the client disconnects. */
type Pause = (ms: number) => Promise<void>;

/**
 * Sends a reply, with its fault if there is one. Without a reply, resets the connection. Resolves at the end of the answer, with the status
 * that was sent, or 0 if none was sent.
 */
export async function deliver(
  response: ServerResponse,
  reply: Reply | null,
  fault: FaultDo | null,
  timers: Timers,
): Promise<number> {
  if (reply === null || fault?.kind === 'reset') return cut(response);
  if (fault?.kind === 'stall' && fault.moment === 'headers') await timers.wait(fault.ms);
  if (timers.stopped || response.destroyed || response.socket?.destroyed) return cut(response);
  const { status, headers, body } = reply;
  const isStream = typeof body === 'function';
  const isChunked = isStream || (fault?.kind === 'truncate' && fault.framing === 'chunked');
  response.writeHead(status, isChunked ? headers : { ...headers, 'content-length': String(body.length) });
  if (!isStream && fault === null) {
    response.end(body);
    return status;
  }
  response.flushHeaders();
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  const gone = AbortSignal.any([closed.signal, timers.closed]);
  const pause: Pause = (ms) => timers.wait(ms, gone);
  const pieces = isStream ? piecesOfStream(body(gone), fault, pause) : piecesOfBody(body, fault, pause);
  for await (const piece of pieces) {
    if (gone.aborted) break;
    await write(response, piece);
  }
  if (isStream && timers.stopped) return cut(response);
  const how = fault?.kind === 'truncate' ? 'end' : isStream && fault?.kind === 'cut-stream' ? fault.how : 'clean';
  if (how === 'clean') response.end();
  else if (how === 'reset') cut(response);
  // The socket is closed normally, but the answer is not whole. After a reset the client could lose bytes that were sent before.
  else response.socket?.destroySoon();
  return status;
}

/** Resets the connection of an answer. */
export function cut(response: ServerResponse): number {
  response.socket?.resetAndDestroy();
  return 0;
}

/** Writes and waits until the bytes have left this process, or the connection is closed. */
async function write(response: ServerResponse, bytes: Buffer): Promise<void> {
  if (bytes.length > 0) await new Promise<void>((resolve) => response.write(bytes, () => resolve()));
}

async function* piecesOfBody(body: Buffer, fault: FaultDo | null, pause: Pause): AsyncIterable<Buffer> {
  if (fault?.kind === 'truncate') {
    yield body.subarray(0, fault.bytes ?? Math.floor(body.length * (fault.fraction ?? 0.5)));
  } else if (fault?.kind === 'drip') {
    yield* drip(body, fault, pause);
  } else if (fault?.kind === 'stall' && fault.moment === 'body') {
    yield body.subarray(0, body.length >> 1);
    await pause(fault.ms);
    yield body.subarray(body.length >> 1);
  } else yield body;
}

async function* piecesOfStream(frames: FrameSource, fault: FaultDo | null, pause: Pause): AsyncIterable<Buffer> {
  if (fault?.kind === 'cut-stream') yield* untilCut(frames, fault);
  else if (fault?.kind === 'truncate') yield* untilCut(frames, { bytes: fault.bytes ?? 100 });
  else {
    for await (const frame of changed(frames, fault, pause)) {
      if (fault?.kind === 'drip') yield* drip(Buffer.from(frame), fault, pause);
      else yield Buffer.from(frame);
    }
  }
}

/** Splits bytes into pieces, with a wait between them. */
async function* drip(body: Buffer, { bytes = 1, everyMs = 1000 }: Of<'drip'>, pause: Pause): AsyncIterable<Buffer> {
  for (let from = 0; from < body.length; from += bytes) {
    if (from > 0) await pause(everyMs);
    yield body.subarray(from, from + bytes);
  }
}

async function* untilCut(frames: FrameSource, fault: Omit<Of<'cut-stream'>, 'kind'>): AsyncIterable<Buffer> {
  const { insideCharacter = false } = fault;
  const events = fault.events ?? 1;
  let end = fault.bytes ?? (events === 0 ? 0 : Number.POSITIVE_INFINITY);
  let [sent, seen] = [0, 0];
  let held: Buffer | null = null;
  for await (const frame of frames) {
    const bytes = Buffer.from(frame);
    if (fault.bytes === undefined && events === -1) {
      // Each frame is held until the next one comes. So the last frame is never sent.
      if (held) yield held;
      held = bytes;
      continue;
    }
    let length = Math.max(0, end - sent);
    // A byte of the form 10xxxxxx continues a letter, so a cut before such a byte is inside the letter.
    if (insideCharacter) while (length < bytes.length && ((bytes[length] as number) & 0xc0) !== 0x80) length += 1;
    yield bytes.subarray(0, length);
    if (length < bytes.length) return;
    sent += bytes.length;
    if (isEvent(frame)) seen += 1;
    if (fault.bytes === undefined && seen === events) end = sent;
    if (sent >= end && !insideCharacter) return;
  }
}

/** Milliseconds between the comments of an otherwise silent stream. */
const commentEveryMs = 20;

/** Whether a frame is an event. Otherwise it is a comment. */
function isEvent(frame: string): boolean {
  return !frame.startsWith(':');
}

/** Changes the frames of a stream as the fault says. Added comments are `KEEP_ALIVE_FRAME`. */
function changed(frames: FrameSource, fault: FaultDo | null, pause: Pause): FrameSource {
  if (fault?.kind === 'frames') return reformed(frames, fault);
  if (fault?.kind === 'silent-stream') return silent(frames, fault, pause);
  if (fault?.kind !== 'stall' || fault.moment !== 'body') return frames;
  return silent(frames, { kind: 'silent-stream', events: 1, ms: fault.ms }, pause);
}

async function* reformed(frames: FrameSource, { change, bytes = 5_000_000 }: Of<'frames'>): AsyncIterable<string> {
  const novelty = { type: 'novelty' };
  if (change === 'huge') yield sseFrame({ ...novelty, filler: 'x'.repeat(bytes) }, { event: 'sandbox.huge' });
  let held = '';
  for await (const frame of frames) {
    if (change === 'unknown') yield sseFrame({ ...novelty, nested: [null] }, { event: 'sandbox.novelty' });
    if (change === 'reorder' && held === '') held = frame;
    else {
      yield frame;
      if (change === 'duplicate') yield frame;
      if (held !== '') yield held;
      held = '';
    }
  }
  if (held !== '') yield held;
}

async function* silent(frames: FrameSource, fault: Of<'silent-stream'>, pause: Pause): AsyncIterable<string> {
  const { events = 0, ms, comments } = fault;
  let [seen, isOver] = [0, false];
  for await (const frame of frames) {
    if (seen >= events && !isOver) {
      isOver = true;
      const until = performance.now() + ms;
      if (!comments) await pause(ms);
      while (comments && performance.now() < until) {
        yield KEEP_ALIVE_FRAME;
        await pause(Math.min(commentEveryMs, until - performance.now()));
      }
    }
    yield frame;
    if (isEvent(frame)) seen += 1;
  }
}
