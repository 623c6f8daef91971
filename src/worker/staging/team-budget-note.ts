import type { PeriodSpend, Spend } from '../../core/purchase/spend.js';
import { dollars } from '../../core/text/money.js';

/** Warning that the team's budget is lower than this cost in micro-dollars; null if the budget is enough. */
export async function teamBudgetNote(spend: Spend, micros: number): Promise<string | null> {
  const [{ dayMicros, monthMicros }, { day, month }] = await Promise.all([spend.caps(), spend.spent()]);
  const left = (cap: number | null, { landedMicros, openMicros, unknownMicros }: PeriodSpend) =>
    cap === null ? Number.POSITIVE_INFINITY : Math.max(0, cap - landedMicros - openMicros - unknownMicros);
  const [today, thisMonth] = [left(dayMicros, day), left(monthMicros, month)];
  const least = Math.min(today, thisMonth);
  if (micros <= least) return null;
  const period = today <= thisMonth ? 'day' : 'month';
  const cap = period === 'day' ? dayMicros : monthMicros;
  return `The job will pause at ${dollars(least)}, the rest of the team's budget of ${dollars(cap ?? 0)} for this ${period}.`;
}
