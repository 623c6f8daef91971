import type { ServerResponse } from 'node:http';
import type { Timers } from '../base/timers.js';
import type { Frames } from '../route.js';
import { changeFrames, isEvent } from './change-frames.js';
import { cut, drip, write } from './deliver.js';
import type { FaultDo } from './fault.js';

type Cut = Extract<FaultDo, { kind: 'cut-stream' }>;

/**
 * Sends an event stream, with its fault if there is one. Resolves at the end of the stream with the status that was sent, or 0
 * if none was sent.
 */
export async function deliverStream(
  response: ServerResponse,
  head: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
  frames: Frames,
  fault: FaultDo | null,
  timers: Timers,
): Promise<number> {
  if (fault?.kind === 'reset') return cut(response);
  if (fault?.kind === 'stall' && fault.moment === 'headers') await timers.wait(fault.ms);
  if (timers.stopped || response.destroyed) return cut(response);
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  timers.closed.addEventListener('abort', () => gone.abort(), { once: true });
  response.writeHead(head.status, head.headers);
  response.flushHeaders();
  const source = changeFrames(frames(gone.signal), fault, timers, gone.signal);
  const cutting = cutOf(fault);
  if (cutting) return cutStream(response, source, cutting, head.status);
  for await (const frame of source) {
    if (gone.signal.aborted) break;
    if (fault?.kind === 'drip') await drip(response, Buffer.from(frame), fault, timers);
    else await write(response, Buffer.from(frame));
  }
  if (timers.stopped) return cut(response);
  response.end();
  return head.status;
}

function cutOf(fault: FaultDo | null): Cut | null {
  if (fault?.kind === 'truncate') return { kind: 'cut-stream', bytes: fault.bytes ?? 100 };
  return fault?.kind === 'cut-stream' ? fault : null;
}

async function cutStream(
  response: ServerResponse,
  frames: AsyncIterable<string> | Iterable<string>,
  fault: Cut,
  status: number,
): Promise<number> {
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
  return status;
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
