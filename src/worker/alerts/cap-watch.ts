import type { Purchase, PurchaseRequest } from '../../activities/index.js';
import type { AlertFact } from '../../core/alerts/alert.js';
import { capAlert } from '../../core/alerts/cap-alerts.js';
import type { AlertBook } from '../../core/alerts/outbox.js';
import { jobOf } from '../../core/purchase/journal.js';
import { OverBudget, type PeriodSpend, type Spend } from '../../core/purchase/spend.js';
import { committed } from '../../store/spend/spend-sums.js';
import type { AlertSettings } from './alert-setting.js';

/** Interval of the checks while something is bought, in ms. */
const CHECK_MS = 5000;

/** The run of a job whose cap is watched. */
interface WatchedRun {
  readonly job: string;
  readonly startedAt: number;
  readonly beforeMicros: number;
  readonly capMicros: number;
}

export interface CapWatch {
  /** Buys like the purchase that is watched. */
  readonly purchase: Purchase;
  /** Checks once more, and ends. */
  close(): Promise<void>;
}

interface WatchOptions {
  readonly spend: Pick<Spend, 'caps' | 'spent' | 'counted'>;
  readonly book: AlertBook;
  readonly origin: string;
  readonly team: string;
  readonly checkMs?: number;
}

/**
 * Reports how much of the caps is used, by the sums that the caps are checked against. The checks run beside the purchases, which never wait
 * for them.
 */
export function watchCaps(
  purchase: Purchase,
  { spend, book, origin, team, checkMs = CHECK_MS }: WatchOptions,
): CapWatch {
  /** Runs with purchases in progress, and runs whose last purchase ended after the last check. */
  const runs = new Map<string, WatchedRun & { purchases: number }>();
  const ended = new Map<string, WatchedRun>();
  let wasBought = false;
  let checking: Promise<void> | null = null;

  async function runFact(
    { job, startedAt, beforeMicros, capMicros }: WatchedRun,
    refuses = false,
  ): Promise<AlertFact | null> {
    const usedMicros = Math.max(0, (await spend.counted(job)) - beforeMicros);
    return capAlert({ scope: 'run', key: [job, startedAt], capMicros, usedMicros, refuses, origin, job });
  }

  async function teamFacts(refused: OverBudget['scope'] | null = null): Promise<readonly (AlertFact | null)[]> {
    const caps = await spend.caps();
    if (caps.dayMicros === null && caps.monthMicros === null) return [];
    const spent = await spend.spent();
    const fact = (scope: 'day' | 'month', capMicros: number | null, sum: PeriodSpend) =>
      capMicros === null
        ? null
        : capAlert({
            ...{ scope, key: [team, sum.since], capMicros, usedMicros: committed(sum), origin, since: sum.since },
            refuses: refused === scope,
          });
    return [fact('day', caps.dayMicros, spent.day), fact('month', caps.monthMicros, spent.month)];
  }

  const note = (facts: readonly (AlertFact | null)[]) => book.note(facts.filter((fact) => fact !== null));

  async function checkAll(): Promise<void> {
    const over = [...ended];
    ended.clear();
    wasBought = false;
    try {
      await note(await teamFacts());
      for (const run of [...runs.values(), ...over.map(([, run]) => run)]) await note([await runFact(run)]);
    } catch (error) {
      wasBought = true;
      for (const [key, run] of over) ended.set(key, run);
      throw error;
    }
  }

  /** One check at a time. A check that fails is repeated by the next one. */
  const check = (): Promise<void> => {
    checking ??= checkAll()
      .catch(() => undefined)
      .finally(() => {
        checking = null;
      });
    return checking;
  };

  const timer = setInterval(() => {
    if (wasBought || runs.size > 0) void check();
  }, checkMs);
  timer.unref();

  return {
    purchase: async (request, control) => {
      const run = runOf(request);
      const key = run && `${run.job} ${run.startedAt}`;
      if (run && key) runs.set(key, { ...run, purchases: (runs.get(key)?.purchases ?? 0) + 1 });
      wasBought = true;
      try {
        return await purchase(request, control);
      } catch (error) {
        // The rest of a cap is smaller than a request, so the cap is used up, although its sum is less.
        if (error instanceof OverBudget && !error.unproven) {
          const isRun = error.scope === 'job' || error.scope === 'worker';
          const facts = isRun
            ? run
              ? [await runFact(run, true).catch(() => null)]
              : []
            : await teamFacts(error.scope).catch(() => []);
          await note(facts).catch(() => undefined);
        }
        throw error;
      } finally {
        wasBought = true;
        const watched = key && runs.get(key);
        if (run && key && watched) {
          watched.purchases--;
          if (watched.purchases === 0) runs.delete(key);
          ended.set(key, run);
          void check();
        }
      }
    },
    close: async () => {
      clearInterval(timer);
      await checking;
      if (wasBought) await check();
    },
  };
}

/** Whether a part of a cap is an event that is reported. */
export const reportsCaps = (settings: AlertSettings | null | undefined): boolean =>
  settings?.on.some((type) => type.startsWith('cap.')) ?? false;

/** A purchase whose caps are not watched. */
export const unwatched = (purchase: Purchase): CapWatch => ({ purchase, close: async () => undefined });

/** The run of a purchase with a cap; null without one. */
function runOf({ cap, startedAt }: PurchaseRequest): WatchedRun | null {
  if (!cap || cap.beforeMicros === undefined || startedAt === undefined) return null;
  const { bookPrefix, limitMicros, beforeMicros } = cap;
  return { job: jobOf(bookPrefix), startedAt, beforeMicros, capMicros: limitMicros - beforeMicros };
}
