import type { Purchase, PurchaseRequest } from '../../activities/index.js';
import type { AlertBook } from '../../core/alerts/alert.js';
import { capAlert } from '../../core/alerts/cap-alerts.js';
import { jobOf } from '../../core/purchase/journal.js';
import { OverBudget, type Spend } from '../../core/purchase/spend.js';
import { committed } from '../../store/spend/spend-sums.js';

interface WatchOptions {
  readonly spend: Pick<Spend, 'caps' | 'spent' | 'counted'>;
  readonly book: AlertBook;
  readonly origin: string;
  readonly team: string;
}

type Bought = readonly [run: ReturnType<typeof runOf>, refused: OverBudget['scope'] | null];

/**
 * Reports how much of the caps is used after each purchase, by the sums that the caps are checked against. A purchase never waits for the
 * check. `checked` resolves when the last check has ended.
 */
export function watchCaps(purchase: Purchase, { spend, book, origin, team }: WatchOptions) {
  /** What was bought, or refused, since the last check began. */
  const bought = new Map<string, Bought>();
  let checking = Promise.resolve();

  async function factsOf([run, refused]: Bought) {
    const caps = await spend.caps();
    const limits = { day: caps.dayMicros ?? 0, month: caps.monthMicros ?? 0 };
    const spent = limits.day + limits.month > 0 ? await spend.spent() : null;
    const periods = (['day', 'month'] as const).map((scope) => {
      if (!spent) return null;
      const { since } = spent[scope];
      const used = { capMicros: limits[scope], usedMicros: committed(spent[scope]), refuses: refused === scope };
      return capAlert({ scope, key: [team, since], ...used, origin, since });
    });
    if (!run) return periods;
    const { job, startedAt, beforeMicros, capMicros } = run;
    const usedMicros = Math.max(0, (await spend.counted(job)) - beforeMicros);
    // The rest of a cap is smaller than a refused request, so the cap is used up, although its sum is less.
    const refuses = refused === 'job' || refused === 'worker';
    const ofRun = capAlert({ scope: 'run', key: [job, startedAt], capMicros, usedMicros, refuses, origin, job });
    return [...periods, ofRun];
  }

  async function check(): Promise<void> {
    const all = [...bought.values()];
    bought.clear();
    for (const one of all) await book.note((await factsOf(one)).filter((fact) => fact !== null));
  }

  function note(one: Bought): void {
    const isWaiting = bought.size > 0;
    bought.set(JSON.stringify([one[0]?.job, one[0]?.startedAt, one[1]]), one);
    // A check that fails is repeated after the next purchase.
    if (!isWaiting) checking = checking.then(check).catch(() => undefined);
  }

  const watched: Purchase = async (request, control) => {
    let refused: OverBudget['scope'] | null = null;
    try {
      return await purchase(request, control);
    } catch (error) {
      if (error instanceof OverBudget && !error.unproven) refused = error.scope;
      throw error;
    } finally {
      note([runOf(request), refused]);
    }
  };
  return { purchase: watched, checked: () => checking };
}

/** The run of a purchase with a cap; null without one. */
function runOf({ cap, startedAt }: PurchaseRequest) {
  if (!cap || cap.beforeMicros === undefined || startedAt === undefined) return null;
  const { bookPrefix, limitMicros, beforeMicros } = cap;
  return { job: jobOf(bookPrefix), startedAt, beforeMicros, capMicros: limitMicros - beforeMicros };
}
