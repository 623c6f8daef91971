import type { PeriodSpend, Spend } from '../../core/purchase/spend.js';
import { dollars } from '../../core/text/money.js';

/** What a person should know of the team's budget before a job that may cost so much; null where it is enough. */
export async function teamBudgetNote(spend: Spend, micros: number): Promise<string | null> {
  const [{ dayMicros, monthMicros }, { day, month }] = await Promise.all([spend.caps(), spend.spent()]);
  const left = (cap: number | null, { landedMicros, openMicros, unknownMicros }: PeriodSpend) =>
    cap === null ? Number.POSITIVE_INFINITY : Math.max(0, cap - landedMicros - openMicros - unknownMicros);
  const [today, thisMonth] = [left(dayMicros, day), left(monthMicros, month)];
  const least = Math.min(today, thisMonth);
  if (micros <= least) return null;
  const period = today <= thisMonth ? 'day' : 'month';
  const cap = period === 'day' ? dayMicros : monthMicros;
  return `The team's budget of ${dollars(cap ?? 0)} a ${period} leaves ${dollars(least)}: there the job will pause.`;
}
