import { filterProblem, type MonitorFilter, takesSome } from './monitor-filter.js';
import { type QuietHours, quietHoursProblem } from './quiet-hours.js';

/** Input of the `quietMonitors` workflow, which the schedules of quiet hours start. */
export interface QuietInput {
  /** Base URL of the service, or `sandbox`; default: the worker's. Workers of other services do not run the workflow. */
  readonly origin?: string;
  /** Name of the quiet hours. */
  readonly name: string;
  readonly hours: QuietHours;
  /** The monitors to pause; only active monitors are paused. */
  readonly filter: MonitorFilter;
  /** The warehouse with the memory of paused monitors. */
  readonly into: string;
  readonly host?: string;
  /** Set when the quiet hours are removed: whatever the time, the run then unpauses all paused monitors and clears the memory. */
  readonly restore?: boolean;
  /** A time in Unix ms that replaces the present time. */
  readonly now?: number;
}

/**
 * Returns the problem of an input; null where there is none. A restore is not checked, because a restore unpauses all monitors that the
 * quiet hours paused.
 */
export function quietProblem({ filter, hours, restore }: QuietInput): string | null {
  if (restore) return null;
  const wrong = filterProblem(filter ?? {});
  if (wrong !== null) return wrong;
  const { status, ...others } = filter ?? {};
  if (status !== undefined) return 'filter.status is not allowed: quiet hours only pause active monitors';
  if (!takesSome(others)) return 'filter must have name or metadata; quiet hours never cover all monitors';
  const problem = quietHoursProblem(hours);
  return problem === null ? null : `hours.${problem}`;
}

/** The result of a run of quiet hours. */
export interface QuietOutcome {
  readonly did: 'begin' | 'end' | 'nothing';
  /** The quiet hours, by the date of their beginning. */
  readonly window: string | null;
  readonly paused: number;
  readonly unpaused: number;
  /** Some of the monitors that were not changed, and why. */
  readonly left: readonly { readonly id: string; readonly name: string | null; readonly what: string }[];
  readonly leftCount: number;
}
