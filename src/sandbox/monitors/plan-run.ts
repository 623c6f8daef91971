import { choose, fraction, hashText } from '../base/hash.js';
import { type MonitorOptions, millisOf } from '../base/state-options.js';
import type { Monitor } from './monitor.js';
import type { MonitorRun } from './monitor-run.js';

const failReasons = ['rate_limited', 'source_not_available', 'search_unavailable', 'search_failed', 'internal_error'];

export interface RunPlan {
  readonly id: string;
  readonly serial: number;
  /** Milliseconds of the wall clock. */
  readonly at: number;
  readonly scheduled: boolean;
  readonly seed: number;
  /** Whether the team can pay for the run. */
  readonly isPaid: boolean;
}

/** Decides the duration and the result of a run, by the id of the run. */
export function planRun(
  { id: monitorId, search, outputSchema }: Monitor,
  plan: RunPlan,
  options: MonitorOptions,
): MonitorRun {
  const { id, serial, at, scheduled, seed, isPaid } = plan;
  const hash = hashText(id, seed);
  const duration = millisOf(options.durationMs, fraction(hash, 151));
  const fails = fraction(hash, 152) < options.failureRate;
  const failReason = fails ? (options.failReason ?? choose(failReasons, hash, 153)) : null;
  return {
    id,
    monitorId,
    serial,
    createdAt: at,
    startsAt: at + Math.round(duration / 5),
    endsAt: at + duration,
    failReason: isPaid ? failReason : 'insufficient_credits',
    cancelledAt: null,
    scheduled,
    asked: { search, outputSchema },
  };
}
