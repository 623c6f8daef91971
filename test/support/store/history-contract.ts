import { describe, expect, it } from 'vitest';
import { knownCost, type PurchaseHistory, sentCount, type UnitHistory } from '../../../src/core/purchase/attempts.js';
import type { ForgettingJournal } from '../../../src/core/purchase/forgotten.js';
import type { Journal, UnitOutcome } from '../../../src/core/purchase/journal.js';
import { begun, intent, keyOf, outcome } from './journal-contract.js';

type TracedJournal = Journal & PurchaseHistory & { readonly forgetting: ForgettingJournal };

/**
 * The contract for the history of units in journals. `reopen` returns a journal of the same store, after the death of the process that had the
 * previous journal.
 */
export function historyContract(
  name: string,
  open: () => Promise<{ readonly journal: TracedJournal; reopen(): Promise<TracedJournal> }>,
): void {
  const failed = (number: number): UnitOutcome =>
    outcome(number, { status: 'error', errorTag: 'CRAWL_TIMEOUT', costMicros: 0, result: null });
  let clock = Date.now();
  /** Buys units with one request, again if they have landed. */
  async function buy(journal: Journal, units: readonly UnitOutcome[], segment?: string): Promise<void> {
    const keys = units.map(({ key }) => key);
    const numbers = keys.map((key) => Number.parseInt(key.slice(0, 16), 16));
    // Each answer is newer than the one before.
    const fetchedAt = ++clock;
    await journal.claim(keys, 'a', { freshAfter: fetchedAt });
    const id = await journal.intend(intent('a', numbers, segment));
    await journal.land(id, { requestId: `req-${fetchedAt}`, fetchedAt, units });
    await journal.release('a');
  }
  const historyOf = async (journal: TracedJournal, number: number, job = 'job'): Promise<UnitHistory> =>
    (await journal.history([keyOf(number)], [job])).get(keyOf(number)) as UnitHistory;
  const outcomes = ({ attempts }: UnitHistory) => attempts.map((attempt) => attempt.outcome);

  describe(`${name} as a history of units`, () => {
    it('has no request for a unit that was never bought', async () => {
      const { journal } = await open();
      expect(await historyOf(journal, 1)).toEqual({ attempts: [], landed: null });
    });

    it('lists the requests of a unit in their order, each with its cost, its id and its end, also after a restart', async () => {
      const { journal, reopen } = await open();
      await buy(journal, [failed(1), outcome(2), outcome(3)]);
      await buy(journal, [outcome(1, { costMicros: 700 })], 'job/gen2/000001');
      for (const opened of [async () => journal, reopen]) {
        const one = await opened();
        const first = await historyOf(one, 1);
        expect(first.attempts).toMatchObject([
          { outcome: 'landed', segment: 'job/gen/000000', units: 3, costMicros: 0, requestMicros: 2000, reason: null },
          { outcome: 'landed', segment: 'job/gen2/000001', units: 1, costMicros: 700, requestMicros: 700 },
        ]);
        expect(first.attempts.map(({ requestId }) => requestId)).toEqual([`req-${clock - 1}`, `req-${clock}`]);
        expect(first.landed).toMatchObject({ status: 'success', at: clock, bought: true, inJournal: true });
        expect(first.landed?.bytes).toBeGreaterThan(100);
        expect(knownCost(first)).toEqual({ micros: 700, isWhole: true });
        const second = await historyOf(one, 2);
        expect(knownCost(second)).toEqual({ micros: 1000, isWhole: true });
        expect(sentCount(second)).toBe(1);
      }
    });

    it('knows requests that were free, possibly charged, held back and in flight', async () => {
      const { journal, reopen } = await open();
      const end = async (reason: string, charged: 'never' | 'maybe') => {
        await journal.claim([keyOf(1)], 'a');
        await journal.miss(await journal.intend(intent('a', [1])), reason, charged);
        await journal.release('a');
      };
      await end('429: slow down', 'never');
      await end('held back before it was sent', 'never');
      await end('the connection was cut', 'maybe');
      await begun(journal, 'b', [1]);
      const living = await historyOf(journal, 1);
      expect(outcomes(living)).toEqual(['free', 'unsent', 'unknown', 'open']);
      expect(living.attempts[2]).toMatchObject({ reason: 'the connection was cut', requestMicros: 1000 });
      expect(sentCount(living)).toBe(3);
      const dead = await historyOf(await reopen(), 1);
      expect(outcomes(dead)).toEqual(['free', 'unsent', 'unknown', 'unknown']);
    });

    it('knows the run of a request at the service', async () => {
      const { journal } = await open();
      const id = await begun(journal, 'a', [1]);
      await journal.note(id, 'a', { run: 'run_1', requestId: 'req' });
      expect((await historyOf(journal, 1)).attempts).toMatchObject([{ outcome: 'open', run: 'run_1', endedAt: null }]);
      await journal.land(id, { requestId: 'req', fetchedAt: ++clock, units: [outcome(1)] });
      expect((await historyOf(journal, 1)).attempts).toMatchObject([{ outcome: 'landed', run: 'run_1' }]);
    });

    it('finds the answer that another job has bought', async () => {
      const { journal } = await open();
      await buy(journal, [outcome(1)], 'other/gen/000000');
      const found = await historyOf(journal, 1);
      expect(found.attempts).toMatchObject([{ segment: 'other/gen/000000', costMicros: 1000 }]);
      expect(found.landed).toMatchObject({ segment: 'other/gen/000000' });
    });

    it('tells an outcome without a request from an answer, and keeps the record of a pruned answer', async () => {
      const { journal, reopen } = await open();
      await journal.claim([keyOf(1)], 'a');
      await journal.recordOutcomes('a', 'job/gen/000000', 'contents', [failed(1)]);
      expect(await historyOf(journal, 1)).toMatchObject({
        attempts: [],
        landed: { bought: false, tag: 'CRAWL_TIMEOUT' },
      });
      await buy(journal, [outcome(2, { costMicros: 900 }), failed(3)]);
      const again = await reopen();
      await again.prune('job/', Date.now() + 60_000);
      const landed = { inJournal: false, status: 'success' };
      expect(await historyOf(again, 2)).toMatchObject({ attempts: [{ costMicros: 900 }], landed });
      expect(knownCost(await historyOf(again, 3))).toEqual({ micros: 0, isWhole: true });
    });

    it('keeps the costs of forgotten units, and of the units that were bought with them', async () => {
      const { journal, reopen } = await open();
      await buy(journal, [outcome(1, { costMicros: 700 }), outcome(2, { costMicros: 900 }), failed(3), failed(4)]);
      const keys = [1, 3].map(keyOf);
      await journal.forgetting.forget(keys);
      await journal.forgetting.removeBodies(new Set(keys), false);
      const again = await reopen();
      for (const [unit, micros] of [700, 900, 0, 0].entries())
        expect(knownCost(await historyOf(again, unit + 1)), `unit ${unit + 1}`).toEqual({ micros, isWhole: true });
    });

    it('never takes an unknown share of the cost of a forgotten unit for 0', async () => {
      const { journal, reopen } = await open();
      await buy(journal, [outcome(1), outcome(2), failed(3), failed(4)]);
      const again = await reopen();
      await again.prune('job/', Date.now() + 60_000);
      await again.forgetting.forget([keyOf(1)]);
      const { micros, isWhole } = knownCost(await historyOf(again, 1));
      expect(isWhole ? micros : 'unknown').toSatisfy((share) => share === 1000 || share === 'unknown');
      expect(knownCost(await historyOf(again, 3))).toEqual({ micros: 0, isWhole: true });
    });
  });
}
