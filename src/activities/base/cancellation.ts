import { Context } from '@temporalio/activity';
import type { Control, Progress } from '../purchase/purchase-request.js';

/** The functions that stop the running activities of this process, with the run of each. */
const stops = new Map<() => void, Context['info']['workflowExecution']>();
/** Ids of workflows whose activities stop at their start. */
const held = new Set<string>();

/** Calls `stop` if the activities of this workflow are interrupted. Returns a function that ends this. */
function onInterrupt(stop: () => void): () => void {
  const { workflowExecution: run } = Context.current().info;
  stops.set(stop, run);
  if (held.has(run?.workflowId ?? '')) stop();
  return () => void stops.delete(stop);
}

/** Stops the activities of a workflow or run in this process. Activities of other processes stop with their next heartbeat. */
export function interruptActivities(id: string): void {
  for (const [stop, run] of stops) if (run?.runId === id || run?.workflowId === id) stop();
}

/** Stops the activities of a workflow in this process, and those that begin before the returned function is called. */
export function holdActivities(workflowId: string): () => void {
  held.add(workflowId);
  interruptActivities(workflowId);
  return () => void held.delete(workflowId);
}

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
