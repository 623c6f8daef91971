import type { LimiterView } from '../../core/limiter/limiter.js';
import type { JobPhase, JobProgress, PauseReason, SliceHeartbeat } from '../../core/rows/job.js';

/** Result of one poll of a running job. Costs are in micro-dollars, times in Unix ms. */
export interface Sample {
  readonly at: number;
  readonly progress: JobProgress;
  readonly running: readonly SliceHeartbeat[];
  readonly limits: LimiterView | null;
}

/** Values of a progress line. */
export interface Reading {
  readonly phase: JobPhase;
  readonly pausedFor: PauseReason | null;
  readonly done: number;
  readonly total: number;
  /** Rows per second in the last seconds. Null until half a second was measured. */
  readonly rowsPerSecond: number | null;
  readonly etaSeconds: number | null;
  readonly costMicros: number;
  /** Cap of the run; null without a cap. */
  readonly maxCostMicros: number | null;
  readonly failed: number;
  readonly unknownOutcomes: number;
  readonly waitingFor: string | null;
}

/** The time in ms over which speed is measured: long enough that the time left does not jump after a retried slice or a large load. */
const WINDOW_MS = 15_000;

/** Measures speed over the last seconds. */
export class Speed {
  readonly #points: { readonly at: number; readonly done: number }[] = [];

  /** Adds the amount that is done at a time in ms. Returns the amount per second. Null until half a second was measured. */
  at(at: number, done: number): number | null {
    this.#points.push({ at, done });
    // The newest point before the window is kept as the start of the measurement.
    while (this.#points.length > 2 && (this.#points[1] as { at: number }).at <= at - WINDOW_MS) this.#points.shift();
    const first = this.#points[0] as { at: number; done: number };
    return at - first.at < 500 ? null : ((done - first.done) * 1000) / (at - first.at);
  }
}

/**
 * Turns samples into readings. When a slice moves to another worker, the heartbeat of the slice is missing for a moment. The
 * counts in the readings do not decrease even then.
 */
export class JobProgressReader {
  readonly #speed = new Speed();
  #done = 0;
  #cost = 0;
  #failed = 0;

  read({ at, progress, running, limits }: Sample): Reading {
    const landed = running.reduce((sum, slice) => sum + slice.landed, 0);
    const cost = running.reduce((sum, slice) => sum + slice.costMicros, 0);
    const failed = running.reduce((sum, slice) => sum + slice.failed, 0);
    this.#done = Math.max(this.#done, Math.min(progress.rows, progress.rowsDone + landed));
    this.#cost = Math.max(this.#cost, progress.costMicros + cost);
    this.#failed = Math.max(this.#failed, progress.failed + failed);
    const rowsPerSecond = this.#speed.at(at, this.#done);
    const left = progress.rows - this.#done;
    return {
      phase: progress.phase,
      pausedFor: progress.pausedFor,
      done: this.#done,
      total: progress.rows,
      rowsPerSecond,
      etaSeconds: rowsPerSecond === null || rowsPerSecond === 0 || progress.rows === 0 ? null : left / rowsPerSecond,
      costMicros: this.#cost,
      maxCostMicros: progress.maxCostMicros ?? null,
      failed: this.#failed,
      unknownOutcomes: progress.unknownOutcomes,
      waitingFor: blockedText(limits, at) ?? running.find((slice) => slice.waitingFor !== null)?.waitingFor ?? null,
    };
  }
}

/** Returns the reason that blocks all calls of the team, or null. */
export function blockedText(limits: LimiterView | null, now: number): string | null {
  if (limits?.blockedUntil == null || limits.blockedUntil <= now) return null;
  const seconds = Math.ceil((limits.blockedUntil - now) / 1000);
  // Details in brackets (tag, request id, delay) are left out, because they do not fit beside a bar. The log has these details.
  const reason = limits.blockReason?.split(' (', 1)[0];
  return `blocked for ${seconds} s${reason ? ` by ${reason}` : ''}`;
}
