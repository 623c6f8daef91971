import { Context } from '@temporalio/activity';
import { toFailure } from '../call/failure.js';
import { longWaitFor, whileIn } from '../purchase/purchase-stats.js';
import { heartbeatFrom } from './cancellation.js';
import { stayIfPaused } from './held.js';

/**
 * One wait of an activity. A wait with a `reason` is reported at once. A request in flight has no reason; the request is reported once it
 * takes long.
 */
interface ActivityWait {
  readonly at: number;
  reason: string | null;
  readonly request: boolean;
}

/** Waits in progress, by activity. Calls and warehouses add their waits; the heartbeats of the activity report these waits. */
const waits = new WeakMap<Context, Set<ActivityWait>>();

/**
 * Runs an activity's work with a heartbeat from a timer, and keeps the activity open while a person has paused it. Rejects with the Temporal
 * failure that `toFailure` returns.
 */
export async function withHeartbeat<T>(work: () => Promise<T>): Promise<T> {
  const heart = heartbeatOfWaits();
  const { cancellationSignal, info } = Context.current();
  try {
    const result = await work();
    await stayIfPaused(true);
    return result;
  } catch (error) {
    // The SDK would report an interrupted wait as a cancelled activity, also if the activity is only paused.
    const isAbort = error instanceof Error && error.name === 'AbortError' && cancellationSignal.aborted;
    throw isAbort ? cancellationSignal.reason : toFailure(error, info.attempt);
  } finally {
    heart.stop();
  }
}

/** Sends heartbeats with the reason of the activity's wait, `{ waitingFor }`, or with null while the activity does not wait. */
export function heartbeatOfWaits(everyMs?: number): { stop(): void } {
  const context = Context.current();
  return heartbeatFrom(() => {
    const all = [...(waits.get(context) ?? [])];
    const requests = all.filter(({ request }) => request);
    const reason = all.find((wait) => wait.reason !== null)?.reason ?? longWaitFor(requests, 'request', Date.now());
    return reason === null ? null : { waitingFor: reason };
  }, everyMs);
}

/** Reports a wait while `work` runs. The reason is for example a block of the rate, or the warehouse; `work` may change the reason. */
export async function waitingFor<T>(
  reason: string | null,
  work: (because: (reason: string | null) => void) => Promise<T>,
): Promise<T> {
  const wait: ActivityWait = { at: Date.now(), reason, request: false };
  return entered(wait, () =>
    work((other) => {
      wait.reason = other;
    }),
  );
}

/** Reports a request in flight once the request takes long. */
export function waitingForAnswer<T>(send: () => Promise<T>): Promise<T> {
  return entered({ at: Date.now(), reason: null, request: true }, send);
}

function entered<T>(wait: ActivityWait, work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const own = waits.get(context) ?? new Set();
  waits.set(context, own);
  return whileIn(own, wait, work);
}
