import { type Intent, jobOf } from '../../core/purchase/journal.js';
import {
  committed,
  FIRST_ANSWERS,
  FIRST_REQUESTS,
  OverBudget,
  observedMultiple,
  reservedMicros,
  type SpendCaps,
} from '../../core/purchase/spend.js';
import {
  type Amounts,
  endOfDay,
  endOfMonth,
  type Intended,
  type SpendSums,
  startOfDay,
  startOfMonth,
} from './spend-sums.js';

/**
 * Returns the amount in micro-dollars that a purchase takes from its caps. If the purchase would exceed a cap, returns that cap; if it
 * would exceed several, returns the cap with the least budget left. Under a cap, a purchase takes the observed cost of such answers if that
 * cost is higher than its estimate. Any purchase under a cap waits while the first requests of its kind are in flight. `now`: Unix ms.
 * `isLeftRunning`: whether an open purchase is a run that was left running; its arguments are the id and the segment of the purchase.
 */
export function reserve(
  sums: SpendSums,
  caps: SpendCaps,
  team: string,
  intent: Intent,
  now: number,
  isLeftRunning: (id: string, segment: string) => boolean,
): number | OverBudget {
  const { cap, estimateMicros, segment, operation, tier = '' } = intent;
  if (!cap && caps.dayMicros === null && caps.monthMicros === null) return estimateMicros;
  const asked = { team, segment, operation, tier, at: now };
  const multiples = sums.multiples(asked);
  const multiple = observedMultiple(multiples);
  const micros = reservedMicros(intent, multiple);
  const isFollowed = (id: string, name: string) => !isLeftRunning(id, name);
  const unproven =
    estimateMicros > 0 && multiples.length < FIRST_ANSWERS && sums.inFlight(asked, isFollowed) >= FIRST_REQUESTS;
  const bounds: OverBudget[] = [];
  const check = (
    scope: OverBudget['scope'],
    limit: number | null,
    sum: Pick<Amounts, 'landedMicros' | 'openMicros' | 'unknownMicros'>,
    resetsAt: number | null,
    isCounted: (one: Intended) => boolean,
  ) => {
    if (limit === null) return;
    const remaining = Math.max(0, limit - committed(sum));
    const over = micros > remaining;
    if (!over && !unproven) return;
    const openMicros = sums.openMicros((id, one) => isCounted(one) && isFollowed(id, one.segment));
    bounds.push(new OverBudget(scope, limit, remaining, openMicros, resetsAt, { multiple, unproven: !over }));
  };
  if (cap) {
    const job = jobOf(cap.bookPrefix);
    check('job', cap.limitMicros, sums.job(job), null, (one) => jobOf(one.segment) === job);
  }
  const since = (start: number) => (one: Intended) => one.team === team && one.at >= start;
  check('day', caps.dayMicros, sums.day(team, now), endOfDay(now), since(startOfDay(now)));
  check('month', caps.monthMicros, sums.month(team, now), endOfMonth(now), since(startOfMonth(now)));
  return bounds.sort((a, b) => a.remainingMicros - b.remainingMicros)[0] ?? micros;
}
