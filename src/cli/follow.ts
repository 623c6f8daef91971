import { setTimeout as sleep } from 'node:timers/promises';
import type { JobProgress, JobSummary } from '../core/job.js';
import type { JobHandle, Runtime } from '../worker/runtime-types.js';
import { Meter } from './render/meter.js';
import type { ProgressView } from './render/progress-view.js';

/** How watching a job ended: it is over, or it waits for a person. */
export type Followed =
  | { readonly kind: 'ended'; readonly summary: JobSummary }
  | { readonly kind: 'parked'; readonly progress: JobProgress };

/** A pause counts once it has been seen for this long: right after a resume the job may still show the old one. */
const PARKED_AFTER_MS = 2000;

/**
 * Watches a job until it ends, or until it is paused for something that waiting doesn't mend (credits, key, budget, rate);
 * a pause by a person is waited out. Rejects as the job's result does. `stopped` ends the watching without an answer.
 */
export async function follow(
  runtime: Pick<Runtime, 'limits' | 'clientOnly'>,
  handle: JobHandle,
  view: ProgressView,
  { stopped, everyMs = 250 }: { readonly stopped: AbortSignal; readonly everyMs?: number },
): Promise<Followed> {
  const meter = new Meter();
  const ended = handle.result().then((summary): Followed => ({ kind: 'ended', summary }));
  // Its rejection is heard below; between two looks there is nobody to hear it.
  ended.catch(() => undefined);
  let parkedSince: number | null = null;
  while (!stopped.aborted) {
    const seen = await Promise.race([ended, look()]);
    if (seen?.kind === 'ended' || seen?.kind === 'parked') return seen;
    const over = await Promise.race([ended, sleep(everyMs, null, { signal: stopped }).catch(() => null)]);
    if (over) return over;
  }
  return new Promise<never>(() => undefined);

  async function look(): Promise<Followed | null> {
    try {
      // A client's own limiter meters nothing, so it has nothing to tell.
      const [shown, limits] = await Promise.all([handle.progress(), runtime.clientOnly ? null : runtime.limits()]);
      if (stopped.aborted) return null;
      const now = Date.now();
      view.update(meter.read({ at: now, ...shown, limits }), now);
      return parked(shown.progress, now);
    } catch {
      // A query that fails says nothing about the job: the server or the worker may be busy. Its result decides.
      return null;
    }
  }

  function parked(progress: JobProgress, now: number): Followed | null {
    const waits = progress.phase === 'paused' && progress.pausedFor !== 'person' && !progress.landing;
    parkedSince = waits ? (parkedSince ?? now) : null;
    return parkedSince !== null && now - parkedSince >= PARKED_AFTER_MS ? { kind: 'parked', progress } : null;
  }
}
