import type { Intent } from '../core/journal.js';
import { OverBudget, type SpendCaps } from '../core/spend.js';
import { type Amounts, committed, endOfDay, endOfMonth, jobOf, type SpendSums } from './spend-sums.js';

/** The bound that a purchase would pass now, the one that leaves least where there are several; or null. */
export function passed(
  sums: SpendSums,
  caps: SpendCaps,
  team: string,
  { cap, estimateMicros }: Intent,
  now: number,
): OverBudget | null {
  const bounds: OverBudget[] = [];
  const look = (
    scope: OverBudget['scope'],
    limit: number | null,
    sum: Pick<Amounts, 'landedMicros' | 'openMicros' | 'unknownMicros'>,
    resetsAt: number | null,
  ) => {
    if (limit === null) return;
    const remaining = Math.max(0, limit - committed(sum));
    if (estimateMicros > remaining) bounds.push(new OverBudget(scope, limit, remaining, sum.openMicros, resetsAt));
  };
  if (cap) look('job', cap.limitMicros, sums.job(jobOf(cap.bookPrefix)), null);
  look('day', caps.dayMicros, sums.day(team, now), endOfDay(now));
  look('month', caps.monthMicros, sums.month(team, now), endOfMonth(now));
  return bounds.sort((a, b) => a.remainingMicros - b.remainingMicros)[0] ?? null;
}
