import type { LimiterView } from '../../core/limiter/limiter.js';
import type { JobPhase, JobProgress, PauseReason, SliceHeartbeat } from '../../core/rows/job.js';

/** What a look at a running job shows. Amounts in micro-dollars, times in Unix milliseconds. */
export interface Sample {
  readonly at: number;
  readonly progress: JobProgress;
  readonly running: readonly SliceHeartbeat[];
  readonly limits: LimiterView | null;
}

/** What a progress line says. */
export interface Reading {
  readonly phase: JobPhase;
  readonly pausedFor: PauseReason | null;
  readonly done: number;
  readonly total: number;
  /** Rows a second over the last seconds; null until there is something to divide. */
  readonly rowsPerSecond: number | null;
  readonly etaSeconds: number | null;
  readonly costMicros: number;
  /** What the run may cost; null for no bound. */
  readonly maxCostMicros: number | null;
  readonly failed: number;
  readonly unknownOutcomes: number;
  readonly waitingFor: string | null;
}

/** Rates are taken over this long: the retry of a slice or a big load must not make the ETA jump. */
const WINDOW_MS = 15_000;

/** How fast something goes over the last seconds. */
export class Speed {
  readonly #points: { readonly at: number; readonly done: number }[] = [];

  /** Takes in how much is done at a time (ms); answers with how much a second, or null until there is something to divide. */
  at(at: number, done: number): number | null {
    this.#points.push({ at, done });
    // The newest point that is at least a window old stays, as the one to measure from.
    while (this.#points.length > 2 && (this.#points[1] as { at: number }).at <= at - WINDOW_MS) this.#points.shift();
    const first = this.#points[0] as { at: number; done: number };
    return at - first.at < 500 ? null : ((done - first.done) * 1000) / (at - first.at);
  }
}

/** Turns samples into readings. Counts never go backwards, though a slice that is handed over drops its heartbeat for a moment. */
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

/** What holds every call of the team back, if anything does. */
export function blockedText(limits: LimiterView | null, now: number): string | null {
  if (limits?.blockedUntil == null || limits.blockedUntil <= now) return null;
  const seconds = Math.ceil((limits.blockedUntil - now) / 1000);
  // What follows in brackets (tag, request id, the delay itself) would not fit beside a bar; it is in the log.
  const reason = limits.blockReason?.split(' (', 1)[0];
  return `blocked for ${seconds} s${reason ? ` by ${reason}` : ''}`;
}
