import { Context } from '@temporalio/activity';
import type { Control, Progress } from '../purchase/purchase-request.js';
import { onInterrupt } from './interrupts.js';

/** Time in ms that paid calls in flight get to land after their activity is cancelled. */
export const LAND_MS = 10_000;
/** The longest time of one slice, in ms. The rest of the slice is left to the next attempt. */
export const SLICE_MS = 60_000;
/** Waits of a job above this length, in ms, are left to Temporal. */
export const YIELD_AFTER_MS = 30_000;

/**
 * The signals of one running activity. `stop` fires when the activity is cancelled (a pause, a cancel, the end of the worker) or when the
 * activity's time is up. Temporal reports a pause with the next heartbeat, and the workflow itself reports it to its own process at once.
 * `cut` fires ten seconds after a cancellation. `done` clears the timers.
 */
export function cancellation(options: {
  readonly timeUpMs?: number;
  readonly yieldAfterMs?: number;
  progress?(progress: Progress): void;
}): Control & { timeIsUp(): void; done(): void } {
  const { cancellationSignal } = Context.current();
  const timeUp = new AbortController();
  const cut = new AbortController();
  const timers: NodeJS.Timeout[] = [];
  const timeIsUp = () => timeUp.abort(new Error('time is up'));
  if (options.timeUpMs !== undefined) timers.push(setTimeout(timeIsUp, options.timeUpMs));
  const interrupted = new AbortController();
  const leave = onInterrupt(() => interrupted.abort(new Error('interrupted')));
  const cancelled = AbortSignal.any([cancellationSignal, interrupted.signal]);
  const onCancel = () => timers.push(setTimeout(() => cut.abort(new Error('cut: cancelled')), LAND_MS));
  if (cancelled.aborted) onCancel();
  else cancelled.addEventListener('abort', onCancel, { once: true });
  return {
    stop: AbortSignal.any([cancelled, timeUp.signal]),
    timeUp: timeUp.signal,
    cut: cut.signal,
    yieldAfterMs: options.yieldAfterMs ?? YIELD_AFTER_MS,
    progress: options.progress,
    timeIsUp,
    done: () => {
      leave();
      for (const timer of timers) clearTimeout(timer);
      cancelled.removeEventListener('abort', onCancel);
    },
  };
}

/**
 * Sends heartbeats from a timer, so that an activity with a long wait or load does not count as dead. Each heartbeat calls `details`.
 * `everyMs`: the time between heartbeats and before the first one; absent: at once, and every second.
 */
export function heartbeatFrom(details: () => unknown, everyMs?: number): { stop(): void } {
  const context = Context.current();
  if (everyMs === undefined) context.heartbeat(details());
  const timer = setInterval(() => context.heartbeat(details()), everyMs ?? 1000);
  return { stop: () => clearInterval(timer) };
}

/** Time in ms between the heartbeats of a single call. Each heartbeat costs an action of Temporal, so a short call sends none. */
export function callHeartbeatMs(): number {
  const { heartbeatTimeoutMs } = Context.current().info;
  return Math.min(10_000, (heartbeatTimeoutMs ?? Number.POSITIVE_INFINITY) / 3);
}
