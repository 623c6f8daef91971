import { setTimeout as sleep } from 'node:timers/promises';
import type { JobPhase, PauseReason } from '../../core/rows/job.js';

/** What of a progress tells whether something waits for a person. */
interface Parkable {
  readonly phase: JobPhase;
  readonly pausedFor: PauseReason | null;
  readonly landing?: boolean;
}

/** How far something was when it was looked at. */
export interface Snapshot<Progress extends Parkable> {
  readonly progress: Progress;
  show(): void;
}

/** Something that goes on and can be watched. */
export interface Followable<Progress extends Parkable, Summary> {
  poll(): Promise<Snapshot<Progress>>;
  result(): Promise<Summary>;
}

/** How watching ended: it is over, or it waits for a person. */
export type Followed<Progress, Summary> =
  | { readonly kind: 'ended'; readonly summary: Summary }
  | { readonly kind: 'parked'; readonly progress: Progress };

/** A pause counts once it has been seen for this long: right after a resume the old one may still be shown. */
const PARKED_AFTER_MS = 2000;

/**
 * Watches something until it ends, or until it is paused for something that waiting doesn't mend (credits, key, budget, rate);
 * a pause by a person is waited out. Rejects as its result does. `stopped` ends the watching without an answer.
 */
export async function follow<Progress extends Parkable, Summary>(
  watched: Followable<Progress, Summary>,
  { stopped, everyMs = 250 }: { readonly stopped: AbortSignal; readonly everyMs?: number },
): Promise<Followed<Progress, Summary>> {
  type Ended = Followed<Progress, Summary>;
  const ended = watched.result().then((summary): Ended => ({ kind: 'ended', summary }));
  // Its rejection is heard below; between two looks there is nobody to hear it.
  ended.catch(() => undefined);
  let parkedSince: number | null = null;
  let over = false;
  try {
    while (!stopped.aborted) {
      const seen = (await Promise.race([ended, poll()])) ?? (await Promise.race([ended, wait()]));
      if (seen !== null) return seen;
    }
  } finally {
    // A look that is under way then comes after what is said of the end.
    over = true;
  }
  return new Promise<never>(() => undefined);

  async function poll(): Promise<Ended | null> {
    try {
      const { progress, show } = await watched.poll();
      if (over || stopped.aborted) return null;
      show();
      return parked(progress, Date.now());
    } catch {
      // A query that fails says nothing about the job: the server or the worker may be busy. Its result decides.
      return null;
    }
  }

  function wait(): Promise<null> {
    return sleep(everyMs, null, { signal: stopped }).catch(() => null);
  }

  function parked(progress: Progress, now: number): Ended | null {
    const waits = progress.phase === 'paused' && progress.pausedFor !== 'person' && !progress.landing;
    parkedSince = waits ? (parkedSince ?? now) : null;
    return parkedSince !== null && now - parkedSince >= PARKED_AFTER_MS ? { kind: 'parked', progress } : null;
  }
}
