import type { ServerResponse } from 'node:http';
import type { FaultDo } from '../base/fault.js';
import { KEEP_ALIVE_FRAME, sseFrame } from '../base/sse.js';
import type { Timers } from '../base/timers.js';
import type { Frames } from '../route.js';

/** An answer, ready to be sent: its body, or the frames of a stream. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | Frames;
}

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
  if (typeof body === 'function') {
    response.writeHead(status, headers);
    response.flushHeaders();
    return (await sendFrames(response, body, fault, timers)) ? status : cut(response);
  }
  const chunked = fault?.kind === 'truncate' && fault.framing === 'chunked';
  response.writeHead(status, chunked ? headers : { ...headers, 'content-length': String(body.length) });
  await sendBody(response, body, fault, timers);
  return status;
}

async function sendBody(response: ServerResponse, body: Buffer, fault: FaultDo | null, timers: Timers): Promise<void> {
  if (fault?.kind === 'truncate') {
    const whole = fault.bytes ?? Math.floor(body.length * (fault.fraction ?? 0.5));
    await write(response, body.subarray(0, whole));
    // The connection is closed normally, not reset: after a reset the client could lose bytes that were sent before.
    response.socket?.destroySoon();
    return;
  }
  let rest = body;
  if (fault?.kind === 'stall' && fault.moment === 'body') {
    rest = body.subarray(body.length >> 1);
    await write(response, body.subarray(0, body.length >> 1));
    await timers.wait(fault.ms);
  }
  if (fault?.kind === 'drip') {
    await drip(response, body, fault, timers);
    rest = Buffer.alloc(0);
  }
  response.end(rest);
}

/** Resets the connection of an answer. */
export function cut(response: ServerResponse): number {
  response.socket?.resetAndDestroy();
  return 0;
}

/** Sends a body slowly, `bytes` bytes at a time. The response stays open. */
async function drip(
  response: ServerResponse,
  body: Buffer,
  { bytes = 1, everyMs = 1000 }: { readonly bytes?: number; readonly everyMs?: number },
  timers: Timers,
): Promise<void> {
  for (let from = 0; from < body.length && !timers.stopped && !response.destroyed; from += bytes) {
    if (from > 0) await timers.wait(everyMs);
    await write(response, body.subarray(from, from + bytes));
  }
}

/** Writes and waits until the bytes have left this process, or the connection is closed. */
async function write(response: ServerResponse, bytes: Buffer): Promise<void> {
  if (bytes.length === 0) {
    response.flushHeaders();
    return;
  }
  await new Promise<void>((resolve) => {
    response.write(bytes, () => resolve());
  });
}

type Cut = Extract<FaultDo, { kind: 'cut-stream' }>;

/** Sends an event stream until its end, or until the client disconnects. Returns false if the sandbox closes before. */
async function sendFrames(
  response: ServerResponse,
  frames: Frames,
  fault: FaultDo | null,
  timers: Timers,
): Promise<boolean> {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  const gone = AbortSignal.any([closed.signal, timers.closed]);
  const source = changeFrames(frames(gone), fault, timers, gone);
  const cutting = cutOf(fault);
  if (cutting) {
    await cutStream(response, source, cutting);
    return true;
  }
  for await (const frame of source) {
    if (gone.aborted) break;
    if (fault?.kind === 'drip') await drip(response, Buffer.from(frame), fault, timers);
    else await write(response, Buffer.from(frame));
  }
  if (timers.stopped) return false;
  response.end();
  return true;
}

function cutOf(fault: FaultDo | null): Cut | null {
  if (fault?.kind === 'truncate') return { kind: 'cut-stream', bytes: fault.bytes ?? 100 };
  return fault?.kind === 'cut-stream' ? fault : null;
}

async function cutStream(response: ServerResponse, frames: FrameSource, fault: Cut): Promise<void> {
  const position = new CutPosition(fault);
  for await (const frame of frames) {
    const bytes = position.take(frame);
    if (bytes.length > 0) await write(response, bytes);
    if (position.reached) break;
  }
  if (fault.how === 'clean') response.end();
  else if (fault.how === 'reset') cut(response);
  // The socket is closed normally, but without the last chunk. So the client receives all bytes that were sent before.
  else response.socket?.destroySoon();
}

/** Finds the position where the fault cuts a stream, while its frames are sent. */
class CutPosition {
  readonly #fault: Cut;
  readonly #held: Buffer[] = [];
  #events = 0;
  #bytes = 0;
  reached = false;

  constructor(fault: Cut) {
    this.#fault = fault;
    this.reached = fault.events === 0 && !fault.insideCharacter;
  }

  /** Returns the bytes to send now for this frame. */
  take(frame: string): Buffer {
    const bytes = Buffer.from(frame);
    const { events, bytes: wanted, insideCharacter = false } = this.#fault;
    if (this.reached) return Buffer.alloc(0);
    if (wanted !== undefined) return this.#untilByte(bytes, wanted, insideCharacter);
    if (events === -1) {
      // Each frame is held until the next one comes. So the last frame is never sent.
      this.#held.push(bytes);
      return this.#held.length > 1 ? (this.#held.shift() as Buffer) : Buffer.alloc(0);
    }
    if (this.#events >= (events ?? 1)) return this.#untilByte(bytes, this.#bytes, insideCharacter);
    this.#events += isEvent(frame) ? 1 : 0;
    this.#bytes += bytes.length;
    this.reached = this.#events >= (events ?? 1) && !insideCharacter;
    return bytes;
  }

  #untilByte(bytes: Buffer, wanted: number, insideCharacter: boolean): Buffer {
    let end = Math.max(0, wanted - this.#bytes);
    // A byte of the form 10xxxxxx continues a letter, so a cut before such a byte is inside the letter.
    if (insideCharacter) while (end < bytes.length && ((bytes[end] as number) & 0xc0) !== 0x80) end += 1;
    this.#bytes += bytes.length;
    this.reached = end < bytes.length;
    return bytes.subarray(0, end);
  }
}

/** Milliseconds between the comments of an otherwise silent stream. */
const commentEveryMs = 20;

type FrameSource = AsyncIterable<string> | Iterable<string>;

/** Whether a frame is an event. Otherwise it is a comment. */
function isEvent(frame: string): boolean {
  return !frame.startsWith(':');
}

/** Changes the frames of a stream as the fault says. Added comments are `KEEP_ALIVE_FRAME`. */
function changeFrames(frames: FrameSource, fault: FaultDo | null, timers: Timers, gone: AbortSignal): FrameSource {
  if (fault?.kind === 'frames') return changed(frames, fault);
  if (fault?.kind === 'silent-stream') return silent(frames, fault, timers, gone);
  if (fault?.kind === 'stall' && fault.moment === 'body') {
    return silent(frames, { events: 1, ms: fault.ms }, timers, gone);
  }
  return frames;
}

async function* changed(frames: FrameSource, fault: Extract<FaultDo, { kind: 'frames' }>): AsyncIterable<string> {
  if (fault.change === 'huge') {
    yield sseFrame({ type: 'novelty', filler: 'x'.repeat(fault.bytes ?? 5_000_000) }, { event: 'sandbox.huge' });
  }
  let held: string | null = null;
  for await (const frame of frames) {
    if (fault.change === 'unknown') yield sseFrame({ type: 'novelty', nested: [null] }, { event: 'sandbox.novelty' });
    if (fault.change === 'reorder' && held === null) {
      held = frame;
      continue;
    }
    yield frame;
    if (fault.change === 'duplicate') yield frame;
    if (held !== null) yield held;
    held = null;
  }
  if (held !== null) yield held;
}

async function* silent(
  frames: FrameSource,
  fault: { readonly events?: number | undefined; readonly ms: number; readonly comments?: boolean | undefined },
  timers: Timers,
  gone: AbortSignal,
): AsyncIterable<string> {
  let left = fault.events ?? 0;
  let isOver = false;
  for await (const frame of frames) {
    if (left === 0 && !isOver) {
      isOver = true;
      if (fault.comments) {
        const until = performance.now() + fault.ms;
        while (performance.now() < until && !gone.aborted) {
          yield KEEP_ALIVE_FRAME;
          await timers.wait(Math.min(commentEveryMs, until - performance.now()), gone);
        }
      } else await timers.wait(fault.ms, gone);
    }
    yield frame;
    if (isEvent(frame) && left > 0) left -= 1;
  }
}
