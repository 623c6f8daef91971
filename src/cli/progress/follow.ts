import { setTimeout as sleep } from 'node:timers/promises';
import type { JobPhase, PauseReason } from '../../core/rows/job.js';

/** Fields of progress that show whether the work waits for a person. */
interface Parkable {
  readonly phase: JobPhase;
  readonly pausedFor: PauseReason | null;
  readonly landing?: boolean;
}

/** Progress at the time of a poll. */
export interface Snapshot<Progress extends Parkable> {
  readonly progress: Progress;
  show(): void;
}

/** Running work that can be watched. */
export interface Followable<Progress extends Parkable, Summary> {
  poll(): Promise<Snapshot<Progress>>;
  result(): Promise<Summary>;
}

/** Why watching ended: the work has ended or waits for a person. */
export type Followed<Progress, Summary> =
  | { readonly kind: 'ended'; readonly summary: Summary }
  | { readonly kind: 'parked'; readonly progress: Progress };

/** A pause counts only after this time in ms, because a poll right after a resume may still return the old pause. */
const PARKED_AFTER_MS = 2000;

/**
 * Watches work until it ends, or until it is paused for a reason that needs a person (credits, key, budget, rate). Work that
 * a person paused is still watched. Rejects with the error of the result. Once `stopped` is aborted, the promise stays
 * pending.
 */
export async function follow<Progress extends Parkable, Summary>(
  watched: Followable<Progress, Summary>,
  { stopped, everyMs = 250 }: { readonly stopped: AbortSignal; readonly everyMs?: number },
): Promise<Followed<Progress, Summary>> {
  type Ended = Followed<Progress, Summary>;
  const ended = watched.result().then((summary): Ended => ({ kind: 'ended', summary }));
  // The rejection is handled below. Without this line Node would report a rejection between two polls as unhandled.
  ended.catch(() => undefined);
  let parkedSince: number | null = null;
  let over = false;
  try {
    while (!stopped.aborted) {
      const seen = (await Promise.race([ended, poll()])) ?? (await Promise.race([ended, wait()]));
      if (seen !== null) return seen;
    }
  } finally {
    // A poll that is still in progress must not draw after the final text.
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
      // A failed query says nothing about the job: the server or the worker may be busy.
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
