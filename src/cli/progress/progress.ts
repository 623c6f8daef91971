import type { LimiterView } from '../../core/limiter/limiter.js';
import type { JobPhase, PauseReason } from '../../core/rows/job.js';
import { count } from '../text/amounts.js';
import type { ProgressLine } from './progress-line.js';

/** Texts of a paused job, by reason. */
const paused: Readonly<Record<PauseReason, string>> = {
  person: 'paused; continue with `searchflow resume`',
  credits: 'paused: no credits left',
  budget: 'paused: its budget is used up',
  key: 'paused: the service refuses the API key',
  rate: 'paused: the service asks to wait more than an hour',
  service: 'paused: the answers are not usable',
  request: 'paused: the service refuses the requests',
  failed: 'paused: too many answers failed',
};

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

/** Turns polls of a job into progress lines. */
export abstract class ProgressReader<Progress, Heartbeat> {
  readonly #most = new Map<keyof Heartbeat, number>();
  protected readonly speed = new Speed();

  /**
   * Returns the progress line of a poll. `at`: Unix ms. `running`: the slices or windows in progress. `blocked`: the reason that blocks all
   * calls of the team, or null.
   */
  abstract line(at: number, progress: Progress, running: readonly Heartbeat[], blocked: string | null): ProgressLine;

  /**
   * Adds the counts of running slices or windows to the count of the others. When a slice moves to another worker, or a window ends, its
   * heartbeat is missing for a moment. The result does not decrease even then.
   */
  protected count(name: keyof Heartbeat, counted: number, running: readonly Heartbeat[]): number {
    const now = running.reduce((sum, one) => sum + Number(one[name] ?? 0), counted);
    const most = Math.max(this.#most.get(name) ?? 0, now);
    this.#most.set(name, most);
    return most;
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

/** Returns a speed such as `311 rows/s`; an empty list if the speed is unknown. */
export function speedText(speed: number | null, what: string): string[] {
  return speed === null ? [] : [`${count(speed < 10 ? Math.round(speed * 10) / 10 : Math.round(speed))} ${what}/s`];
}

/**
 * Returns the reason of a wait, or null. `preparing`: the text of the planning phase. A running job has a message only while it is being
 * cancelled.
 */
export function waitText(
  {
    phase,
    pausedFor,
    message,
  }: { readonly phase: JobPhase; readonly pausedFor: PauseReason | null; readonly message: string | null },
  running: readonly { readonly waitingFor: string | null }[],
  blocked: string | null,
  preparing: string,
): string | null {
  if (phase === 'paused') return paused[pausedFor ?? 'person'];
  const waitingFor = blocked ?? running.find((one) => one.waitingFor !== null)?.waitingFor ?? null;
  if (phase === 'running' && pausedFor === null && message !== null) return message;
  return waitingFor ?? (phase === 'planning' ? preparing : null);
}
