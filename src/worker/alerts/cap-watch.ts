import type { Purchase, PurchaseRequest } from '../../activities/index.js';
import type { AlertBook, AlertFact } from '../../core/alerts/alert.js';
import { named } from '../../core/alerts/job-alerts.js';
import { jobOf } from '../../core/purchase/journal.js';
import { committed, OverBudget, type Spend } from '../../core/purchase/spend.js';
import { dollars, toDollars } from '../../core/text/money.js';
import { commandLine } from '../../core/text/shell-word.js';

interface WatchOptions {
  readonly spend: Pick<Spend, 'caps' | 'spent' | 'counted'>;
  readonly book: AlertBook;
  readonly origin: string;
  readonly team: string;
}

/**
 * Reports how much of the caps is used after each purchase, by the sums that the caps are checked against. A purchase never waits for the
 * check. `checked` resolves when the last check has ended.
 */
export function watchCaps(purchase: Purchase, { spend, book, origin, team }: WatchOptions) {
  /** The checks that have not begun. They see later purchases, too. */
  const waiting = new Set<string>();
  let checking = Promise.resolve();

  async function factsOf(run: ReturnType<typeof runOf>, refused: OverBudget['scope'] | null) {
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
    return [...periods, capAlert({ scope: 'run', key: [job, startedAt], capMicros, usedMicros, refuses, origin, job })];
  }

  function check(request: PurchaseRequest, refused: OverBudget['scope'] | null): void {
    const run = runOf(request);
    const key = JSON.stringify([run?.job, run?.startedAt, refused]);
    if (waiting.has(key)) return;
    waiting.add(key);
    checking = checking
      .then(async () => {
        waiting.delete(key);
        await book.note((await factsOf(run, refused)).filter((fact) => fact !== null));
      })
      // A check that fails is repeated after the next purchase.
      .catch(() => undefined);
  }

  const watched: Purchase = async (request, control) => {
    let refused: OverBudget['scope'] | null = null;
    try {
      return await purchase(request, control);
    } catch (error) {
      if (error instanceof OverBudget && !error.unproven) refused = error.scope;
      throw error;
    } finally {
      check(request, refused);
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

/** A cap and how much of it is used, in micro-dollars: cost, requests in flight and unknown outcomes. */
interface UsedCap {
  readonly scope: 'run' | 'day' | 'month';
  /** What has the cap: the run of a job, or the team and its day or month. */
  readonly key: readonly (string | number)[];
  readonly capMicros: number;
  readonly usedMicros: number;
  /** Whether the rest does not allow another request. */
  readonly refuses: boolean;
  readonly origin: string;
  readonly job?: string;
  /** Beginning of a day or month, in Unix ms. */
  readonly since?: number;
}

/** The alert of the highest part of a cap that is used; null below the lowest one. Another amount of the cap is another alert. */
function capAlert({ scope, key, capMicros, usedMicros, refuses, origin, job, since }: UsedCap): AlertFact | null {
  const percent = refuses || usedMicros >= capMicros ? 100 : 80;
  // A cap of nothing allows nothing, and its owner knows that.
  if (capMicros <= 0 || (!refuses && usedMicros * 100 < capMicros * percent)) return null;
  const [whose, next] =
    job === undefined
      ? [`The team's cap of ${dollars(capMicros)} for this UTC ${scope}`, 'searchflow limits']
      : [`The cap of ${dollars(capMicros)} of the run of ${named(job)}`, commandLine('status', job)];
  const how = percent === 100 ? 'is used up, and requests that do not fit are refused' : `is used by ${percent}%`;
  return {
    type: `cap.${percent}`,
    key: [scope, ...key, capMicros],
    text: `${whose} ${how}: ${dollars(usedMicros)} is spent or in flight. Next: ${next}`,
    data: {
      ...{ scope, percent, capDollars: toDollars(capMicros), usedDollars: toDollars(usedMicros), origin, next, job },
      since: since === undefined ? undefined : new Date(since).toISOString(),
    },
  };
}
