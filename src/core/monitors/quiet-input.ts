import { filterProblem, type MonitorFilter, takesSome } from './monitor-filter.js';
import { type QuietHours, quietHoursProblem } from './quiet-hours.js';

/** Input of the `quietMonitors` workflow, which the schedules of quiet hours start. */
export interface QuietInput {
  /** The service that is meant, by its base URL, or `sandbox`; default: the worker's. A worker of another one leaves it alone. */
  readonly origin?: string;
  /** Name of the quiet hours. */
  readonly name: string;
  readonly hours: QuietHours;
  /** Which monitors; only active ones are paused. */
  readonly filter: MonitorFilter;
  /** Warehouse that remembers which were paused. */
  readonly into: string;
  readonly host?: string;
  /** Puts back what is paused, whatever the time, and forgets the rest: the quiet hours are removed. */
  readonly restore?: boolean;
  /** Unix ms in place of the clock. */
  readonly now?: number;
}

/**
 * A sentence that says what is wrong with the input; null where nothing is. What quiet hours paused is put back, whatever they say
 * of which.
 */
export function quietProblem({ filter, hours, restore }: QuietInput): string | null {
  if (restore) return null;
  const wrong = filterProblem(filter ?? {});
  if (wrong !== null) return wrong;
  const { status, ...others } = filter ?? {};
  if (status !== undefined) return 'filter.status: quiet hours pause active monitors, and no others';
  if (!takesSome(others)) return 'filter: name or metadata is needed; all monitors at once are never meant';
  const problem = quietHoursProblem(hours);
  return problem === null ? null : `hours.${problem}`;
}

/** What a turn of quiet hours did. */
export interface QuietOutcome {
  readonly did: 'begin' | 'end' | 'nothing';
  /** The hours it was of, by the date they began. */
  readonly window: string | null;
  readonly paused: number;
  readonly unpaused: number;
  /** Monitors that were left alone, and why; some of them. */
  readonly left: readonly { readonly id: string; readonly name: string | null; readonly what: string }[];
  readonly leftCount: number;
}
