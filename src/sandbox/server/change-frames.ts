import { KEEP_ALIVE_FRAME, sseFrame } from '../base/sse.js';
import type { Timers } from '../base/timers.js';
import type { FaultDo } from './fault.js';

/** Milliseconds between the comments of an otherwise silent stream. */
const commentEveryMs = 20;

type FrameSource = AsyncIterable<string> | Iterable<string>;

/** Whether a frame is an event. Otherwise it is a comment. */
export function isEvent(frame: string): boolean {
  return !frame.startsWith(':');
}

/** Changes the frames of a stream as the fault says. Added comments are `KEEP_ALIVE_FRAME`. */
export function changeFrames(
  frames: FrameSource,
  fault: FaultDo | null,
  timers: Timers,
  gone: AbortSignal,
): FrameSource {
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
