import { describe, expect, it } from 'vitest';
import type { ActivityQuery, JournalReport } from '../../../src/core/purchase/activity.js';
import type { Intent, Journal } from '../../../src/core/purchase/journal.js';
import { OverBudget, type Spend, type SpendCap } from '../../../src/core/purchase/spend.js';
import { failureOf } from '../failure-of.js';
import { intent, keyOf, outcome } from './journal-contract.js';

/** A journal that also knows the spending of its team. */
export type PurchaseJournal = Journal & Spend & { readonly report: JournalReport };

/** Today's date in UTC, as usage by day shows it. */
const today = () => new Date().toISOString().slice(0, 10);

const budget = (limitMicros: number, job = 'job'): SpendCap => ({ bookPrefix: `${job}/`, limitMicros });

/**
 * The contract for the money in journals. `open` returns the journal of an empty store, for a team. `reopen` returns a journal of the same
 * store, for that team or another one, after the death of the process that had the previous journal.
 */
export function spendContract(
  name: string,
  open: () => Promise<{ readonly journal: PurchaseJournal; reopen(team?: string): Promise<PurchaseJournal> }>,
): void {
  let used = 0;
  /** Writes an intent for this many units, at 1,000 micro-dollars each; returns its id. */
  const ask = async (journal: PurchaseJournal, units: number, changes: Partial<Intent> = {}): Promise<string> => {
    const numbers = Array.from({ length: units }, () => ++used);
    await journal.claim(numbers.map(keyOf), 'owner');
    return journal.intend({ ...intent('owner', numbers), ...changes });
  };
  /** Lands an answer with this total cost. */
  const land = (journal: PurchaseJournal, id: string, units: number, micros: number): Promise<void> =>
    journal.land(id, {
      requestId: `req-${id}`,
      fetchedAt: Date.now(),
      units: Array.from({ length: units }, (_, index) => outcome(++used, { costMicros: index === 0 ? micros : 0 })),
    });
  const over = async (asked: Promise<unknown>): Promise<OverBudget> => {
    const error = await failureOf(asked);
    expect(error).toBeInstanceOf(OverBudget);
    return error as OverBudget;
  };

  describe(`${name} as a budget check`, () => {
    it('accepts an intent up to the last micro-dollar of its cap, and refuses the next without a trace', async () => {
      const { journal } = await open();
      const cap = budget(5000);
      await ask(journal, 3, { cap });
      await ask(journal, 2, { cap });
      const refused = await over(ask(journal, 1, { cap }));
      expect(refused).toMatchObject({ scope: 'job', capMicros: 5000, remainingMicros: 0, openMicros: 5000 });
      expect(refused.resetsAt).toBeNull();
      expect(await journal.totals('job/')).toMatchObject({ openMicros: 5000, requests: 0, unknown: [] });
    });

    it('counts landed answers at their cost, and requests in flight and unknown outcomes at their estimates', async () => {
      const { journal } = await open();
      const cap = budget(10_000);
      await land(journal, await ask(journal, 3, { cap }), 3, 1500);
      await journal.miss(await ask(journal, 2, { cap }), 'connection reset', 'maybe');
      await journal.miss(await ask(journal, 6, { cap }), 'held back', 'never');
      await ask(journal, 4, { cap });
      const refused = await over(ask(journal, 3, { cap }));
      expect(refused).toMatchObject({ remainingMicros: 10_000 - 1500 - 2000 - 4000, openMicros: 4000 });
      await ask(journal, 2, { cap });
    });

    it('releases money when an answer costs less than its estimate', async () => {
      const { journal } = await open();
      const cap = budget(3000);
      const first = await ask(journal, 3, { cap });
      await over(ask(journal, 1, { cap }));
      await land(journal, first, 3, 2000);
      await ask(journal, 1, { cap });
      expect(await over(ask(journal, 1, { cap }))).toMatchObject({ remainingMicros: 0, openMicros: 1000 });
    });

    it('counts a run at the service at its estimate, also after it had been lost and was found', async () => {
      const { journal, reopen } = await open();
      const cap = budget(5000);
      const noted = await ask(journal, 2, { cap });
      await journal.note(noted, 'owner', { run: 'run-1' });
      const lost = await ask(journal, 3, { cap });
      const again = await reopen();
      expect((await again.spent()).day).toMatchObject({ openMicros: 2000, unknownMicros: 3000 });
      await again.note(lost, 'owner', { run: 'run-2' });
      expect((await again.spent()).day).toMatchObject({ landedMicros: 0, openMicros: 5000, unknownMicros: 0 });
      await land(again, noted, 2, 500);
      await land(again, lost, 3, 700);
      expect((await again.spent()).month).toMatchObject({ landedMicros: 1200, openMicros: 0, unknownMicros: 0 });
      expect((await again.usage('job'))[0]).toMatchObject({ requests: 2, unknownOutcomes: 0 });
    });

    it('reports a remaining budget of zero, never below, after an answer above its estimate', async () => {
      const { journal } = await open();
      const cap = budget(3000);
      await land(journal, await ask(journal, 3, { cap }), 3, 9000);
      expect(await over(ask(journal, 1, { cap }))).toMatchObject({ remainingMicros: 0, openMicros: 0 });
      await ask(journal, 0, { cap, estimateMicros: 0 });
    });

    it('lets no two intents at once exceed a cap', async () => {
      const { journal } = await open();
      // Three answers establish the price, so the 40 intents need not wait for it.
      for (let answer = 0; answer < 3; answer++) await land(journal, await ask(journal, 1), 1, 1000);
      const cap = budget(13_000);
      const asked = await Promise.allSettled(Array.from({ length: 40 }, () => ask(journal, 1, { cap })));
      expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
      for (const one of asked) if (one.status === 'rejected') expect(one.reason).toBeInstanceOf(OverBudget);
      expect(await journal.totals('job/')).toMatchObject({ openMicros: 10_000 });
    });

    it('counts all segments of a job, and none of another job whose name starts in the same way', async () => {
      const { journal } = await open();
      const cap = budget(2000, 'job');
      await ask(journal, 5, { segment: 'job-2/gen/000000', cap: budget(5000, 'job-2') });
      await ask(journal, 1, { segment: 'job/gen/000000', cap });
      await ask(journal, 1, { segment: 'job/other/000007', cap });
      await over(ask(journal, 1, { segment: 'job/gen/000001', cap }));
    });

    it('keeps all figures after a crash: requests in flight become unknown outcomes', async () => {
      const { journal, reopen } = await open();
      await land(journal, await ask(journal, 2), 2, 1800);
      await ask(journal, 3);
      const again = await reopen();
      expect(await over(ask(again, 1, { cap: budget(5000) }))).toMatchObject({ remainingMicros: 200, openMicros: 0 });
      expect((await again.spent()).day).toMatchObject({ landedMicros: 1800, openMicros: 0, unknownMicros: 3000 });
      await ask(again, 1, { cap: budget(5800) });
    });

    it('applies the team’s caps of a day and a month to all jobs, and reports when they start again', async () => {
      const { journal, reopen } = await open();
      expect(await journal.caps()).toEqual({ dayMicros: null, monthMicros: null });
      // Two commands at once, of which each sets one cap.
      await Promise.all([journal.setCaps({ dayMicros: 3000 }), journal.setCaps({ monthMicros: 4000 })]);
      expect(await journal.caps()).toEqual({ dayMicros: 3000, monthMicros: 4000 });
      expect(await journal.setCaps({ dayMicros: null })).toEqual({ dayMicros: null, monthMicros: 4000 });
      await journal.setCaps({ dayMicros: 3000 });
      await land(journal, await ask(journal, 2, { segment: 'job/gen/000000' }), 2, 2000);
      const day = await over(ask(journal, 2, { segment: 'calls/2026-11-21' }));
      expect(day).toMatchObject({ scope: 'day', capMicros: 3000, remainingMicros: 1000, openMicros: 0 });
      const tomorrow = new Date(`${today()}T00:00:00Z`).getTime() + 86_400_000;
      expect(day.resetsAt).toBe(tomorrow);
      const again = await reopen();
      await again.setCaps({ dayMicros: null, monthMicros: 2500 });
      const month = await over(ask(again, 1));
      expect(month).toMatchObject({ scope: 'month', capMicros: 2500, remainingMicros: 500 });
      expect(new Date(month.resetsAt ?? 0).getUTCDate()).toBe(1);
      await again.setCaps({ dayMicros: null, monthMicros: null });
      await ask(again, 100);
    });

    it('names the cap with the smallest remainder if several are exceeded', async () => {
      const { journal } = await open();
      await journal.setCaps({ dayMicros: 2000, monthMicros: 9000 });
      expect(await over(ask(journal, 10, { cap: budget(3000) }))).toMatchObject({
        scope: 'day',
        remainingMicros: 2000,
      });
      expect(await over(ask(journal, 10, { cap: budget(1000) }))).toMatchObject({
        scope: 'job',
        remainingMicros: 1000,
      });
    });

    it('keeps teams apart: caps, spending and usage', async () => {
      const { journal, reopen } = await open();
      await journal.setCaps({ dayMicros: 3000, monthMicros: null });
      await land(journal, await ask(journal, 3), 3, 3000);
      await over(ask(journal, 1));
      const sandbox = await reopen('another-team');
      expect(await sandbox.caps()).toEqual({ dayMicros: null, monthMicros: null });
      expect((await sandbox.spent()).month).toMatchObject({ landedMicros: 0, openMicros: 0, unknownMicros: 0 });
      expect(await sandbox.usage('job')).toEqual([]);
      await land(sandbox, await ask(sandbox, 8, { segment: 'sandbox-job/gen/000000' }), 8, 8000);
      const back = await reopen();
      expect((await back.spent()).day.landedMicros).toBe(3000);
      expect(await back.usage('job')).toMatchObject([{ group: 'job', landedMicros: 3000 }]);
      expect(await over(ask(back, 1))).toMatchObject({ scope: 'day' });
    });

    it('sums usage by job, operation and day', async () => {
      const { journal, reopen } = await open();
      await land(journal, await ask(journal, 3, { segment: 'b/gen/000000' }), 3, 2900);
      await land(journal, await ask(journal, 1, { segment: 'b/gen/000001', operation: 'search' }), 1, 7000);
      await land(journal, await ask(journal, 1, { segment: 'calls/2026-11-21', operation: 'search' }), 1, 7000);
      await journal.miss(await ask(journal, 2, { segment: 'a/gen/000000' }), 'connection reset', 'maybe');
      await journal.miss(await ask(journal, 5, { segment: 'a/gen/000000' }), 'held back', 'never');
      const line = { requests: 0, units: 0, landedMicros: 0, openMicros: 0, unknownOutcomes: 0, unknownMicros: 0 };
      const lost = { unknownOutcomes: 1, unknownMicros: 2000 };
      expect(await journal.usage('job')).toEqual([
        { ...line, group: 'a', ...lost },
        { ...line, group: 'b', requests: 2, units: 4, landedMicros: 9900 },
        { ...line, group: 'calls', requests: 1, units: 1, landedMicros: 7000 },
      ]);
      await ask(journal, 4, { segment: 'c/gen/000000' });
      expect(await journal.usage('operation')).toEqual([
        { ...line, group: 'contents', requests: 1, units: 3, landedMicros: 2900, openMicros: 4000, ...lost },
        { ...line, group: 'search', requests: 2, units: 2, landedMicros: 14_000 },
      ]);
      const again = await reopen();
      expect(await again.usage('day')).toEqual([
        {
          ...line,
          group: today(),
          requests: 3,
          units: 5,
          landedMicros: 16_900,
          unknownOutcomes: 2,
          unknownMicros: 6000,
        },
      ]);
    });

    it('returns usage of whole days: the day of the start is included, a day that starts at the end is not', async () => {
      const { journal } = await open();
      await land(journal, await ask(journal, 1), 1, 1000);
      const midnight = new Date(`${today()}T00:00:00Z`).getTime();
      const groups = async (since?: number, until?: number) => (await journal.usage('day', since, until)).length;
      expect(await groups(midnight + 80_000_000)).toBe(1);
      expect(await groups(midnight + 86_400_000)).toBe(0);
      expect(await groups(0, midnight)).toBe(0);
      expect(await groups(0, midnight + 1)).toBe(1);
    });

    it('adds up requests, answers, refusals and lost answers for a report, and leaves out what was never sent', async () => {
      const { journal, reopen } = await open();
      const inCalls = { segment: 'calls/2026-11-21', operation: 'search' };
      await land(journal, await ask(journal, 3), 3, 2900);
      await land(journal, await ask(journal, 1, inCalls), 1, 7000);
      await journal.miss(await ask(journal, 1), 'slower', 'never', { status: 429, retryAfterMs: 7000 });
      await journal.miss(await ask(journal, 1), 'no', 'never', { status: 503, retryAfterMs: null });
      await journal.miss(await ask(journal, 1), 'held back before it was sent', 'never');
      await journal.miss(await ask(journal, 2), 'connection reset', 'maybe');
      await ask(journal, 4);
      const now = Date.now();
      const query: ActivityQuery = {
        ...{ job: null, since: now - 3_600_000, until: now + 3_600_000, stepMs: 86_400_000, windowMs: 86_400_000 },
        shares: [{ operation: 'search', bucket: 'searches', units: 2 }],
        usual: { bucket: 'all', units: 1 },
      };
      const all = {
        requests: 5,
        units: 5,
        active: 1,
        busiest: 5,
        answered: 1,
        limited: 1,
        waitSeconds: 7,
        failed: 1,
        lost: 1,
      };
      const searches = { bucket: 'searches', requests: 1, units: 2, answered: 1, limited: 0, lost: 0 };
      expect(await journal.report.activity(query)).toMatchObject([{ bucket: 'all', ...all }, searches]);
      const back = await reopen();
      const [contents, other] = await back.report.activity({ ...query, job: 'job' });
      expect(contents).toMatchObject({ bucket: 'all', requests: 5, answered: 1, limited: 1, failed: 1 });
      expect(contents?.slowest).toBeGreaterThanOrEqual(0);
      expect(other).toBeUndefined();
      expect(await back.report.activity({ ...query, until: now - 1_800_000 })).toEqual([]);

      const days = await back.report.days(null, now, now + 1);
      const line = { day: today(), openMicros: 0, unknownOutcomes: 0, unknownMicros: 0 };
      expect(days).toEqual([
        {
          ...line,
          operation: 'contents',
          requests: 1,
          units: 3,
          landedMicros: 2900,
          unknownOutcomes: 2,
          unknownMicros: 6000,
        },
        { ...line, operation: 'search', requests: 1, units: 1, landedMicros: 7000 },
      ]);
      expect((await back.report.days('calls', now, now + 1)).map(({ operation }) => operation)).toEqual(['search']);
    });

    it('does not count units that ended without a purchase', async () => {
      const { journal } = await open();
      const key = keyOf(++used);
      await journal.claim([key], 'owner');
      await journal.recordOutcomes('owner', 'job/gen/000000', 'contents', [
        outcome(used, { status: 'error', errorTag: 'UNKNOWN_OUTCOME', costMicros: 0 }),
      ]);
      expect(await journal.usage('job')).toEqual([]);
    });
  });
}
