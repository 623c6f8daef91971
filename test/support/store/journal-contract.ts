import { describe, expect, it } from 'vitest';
import { ENDED_WITH_JOB, type Intent, type Journal, type UnitOutcome } from '../../../src/core/purchase/journal.js';
import type { PurchaseJournal } from '../../../src/worker/store/store.js';

export const keyOf = (number: number): string => number.toString(16).padStart(16, '0').repeat(2);

export function outcome(number: number, changes: Partial<UnitOutcome> = {}): UnitOutcome {
  return {
    key: keyOf(number),
    unit: `https://example.com/${number}`,
    status: 'success',
    errorTag: null,
    httpStatus: null,
    source: 'cached',
    costMicros: 1000,
    result: { url: `https://example.com/${number}`, text: `page ${number} – ü\u0000`, unknown: { field: [1, null] } },
    ...changes,
  };
}

export function intent(owner: string, numbers: number[], segment = 'job/gen/000000'): Intent {
  const keys = numbers.map(keyOf);
  return {
    owner,
    segment,
    operation: 'contents',
    keys,
    estimateMicros: 1000 * keys.length,
    deadline: Date.now() + 60_000,
  };
}

/** Claims units for an owner and records the intent to buy them; returns the id of the intent. */
export async function begun(journal: Journal, owner: string, numbers: number[], segment?: string): Promise<string> {
  await journal.claim(numbers.map(keyOf), owner);
  return journal.intend(intent(owner, numbers, segment));
}

/**
 * The contract that every journal must meet. `reopen` returns a journal of the same store, after the death of the process that had
 * `previous`.
 */
export function journalContract(
  name: string,
  open: () => Promise<{ journal: Journal; reopen(): Promise<Journal>; scratch: string }>,
): void {
  async function buy(journal: Journal, owner: string, numbers: number[], segment?: string): Promise<void> {
    const id = await begun(journal, owner, numbers, segment);
    await journal.land(id, {
      requestId: `req-${owner}`,
      fetchedAt: Date.now(),
      units: numbers.map((number) => outcome(number)),
    });
    await journal.release(owner);
  }

  describe(`${name} as a journal`, () => {
    it('gives each key to one owner at a time', async () => {
      const { journal } = await open();
      expect((await journal.claim([keyOf(1), keyOf(2), keyOf(2)], 'a')).mine).toHaveLength(2);
      const second = await journal.claim([keyOf(2), keyOf(3)], 'b');
      expect(second.theirs).toEqual([keyOf(2)]);
      expect(second.mine.map((unit) => unit.key)).toEqual([keyOf(3)]);
    });

    it('is empty until the first intent, also after a restart', async () => {
      const { journal, reopen } = await open();
      await journal.claim([keyOf(1)], 'a');
      expect(await journal.isEmpty()).toBe(true);
      await journal.intend(intent('a', [1]));
      expect(await journal.isEmpty()).toBe(false);
      expect(await (await reopen()).isEmpty()).toBe(false);
    });

    it('never hands out a landed unit again, also after a restart', async () => {
      const { journal, reopen } = await open();
      await buy(journal, 'a', [1, 2]);
      expect((await journal.claim([keyOf(1)], 'b')).landed.map((unit) => unit.key)).toEqual([keyOf(1)]);
      const again = await reopen();
      const claim = await again.claim([keyOf(1), keyOf(2), keyOf(3)], 'c');
      expect(claim.landed.map((unit) => unit.key).sort()).toEqual([keyOf(1), keyOf(2)]);
      expect(claim.mine).toEqual([{ key: keyOf(3), unknowns: 0 }]);
    });

    it('frees the keys of an owner when it releases them, and wakes its waiters', async () => {
      const { journal } = await open();
      await journal.claim([keyOf(1)], 'a');
      const waiting = journal.waitForAny([keyOf(1)]);
      await journal.release('a');
      await waiting;
      expect((await journal.claim([keyOf(1)], 'b')).mine).toHaveLength(1);
    });

    it('wakes a waiter when its unit lands, and not for another unit', async () => {
      const { journal } = await open();
      await journal.claim([keyOf(1), keyOf(2)], 'a');
      let woken = false;
      const waiting = journal.waitForAny([keyOf(1)]).then(() => {
        woken = true;
      });
      const other = await journal.intend(intent('a', [2]));
      await journal.land(other, { requestId: null, fetchedAt: 1, units: [outcome(2)] });
      expect(woken).toBe(false);
      const id = await journal.intend(intent('a', [1]));
      await journal.land(id, { requestId: null, fetchedAt: 1, units: [outcome(1)] });
      await waiting;
      expect((await journal.claim([keyOf(1)], 'b')).landed).toHaveLength(1);
    });

    it('stops waiting when cancelled', async () => {
      const { journal } = await open();
      await journal.claim([keyOf(1)], 'a');
      const stop = new AbortController();
      const waiting = journal.waitForAny([keyOf(1)], stop.signal);
      stop.abort(new Error('enough'));
      await expect(waiting).rejects.toThrow('enough');
    });

    it('lists an intent whose process died as an unknown outcome, once, and counts it for its units', async () => {
      const { journal, reopen } = await open();
      await begun(journal, 'a', [1, 2]);
      const again = await reopen();
      expect((await again.totals('job/')).unknown).toMatchObject([
        { keys: [keyOf(1), keyOf(2)], operation: 'contents', estimateMicros: 2000 },
      ]);
      expect((await again.claim([keyOf(1)], 'b')).mine).toMatchObject([{ key: keyOf(1), unknowns: 1 }]);
    });

    it('removes an intent that was never sent, and keeps one that may have been charged', async () => {
      const { journal, reopen } = await open();
      await journal.claim([keyOf(1), keyOf(2)], 'a');
      await journal.miss(await journal.intend(intent('a', [1])), 'held back', 'never');
      await journal.miss(await journal.intend(intent('a', [2])), 'connection reset', 'maybe');
      expect((await (await reopen()).totals('job/')).unknown).toMatchObject([
        { keys: [keyOf(2)], reason: 'connection reset' },
      ]);
    });

    it('counts the requests that an owner leaves in flight as unknown outcomes, and keeps a landed answer', async () => {
      const { journal } = await open();
      await journal.claim([keyOf(1), keyOf(2)], 'a');
      const landed = await journal.intend(intent('a', [1]));
      await journal.land(landed, { requestId: null, fetchedAt: 1, units: [outcome(1)] });
      await journal.miss(landed, 'too late', 'maybe');
      await journal.intend(intent('a', [2]));
      await journal.release('a');
      const totals = await journal.totals('job/');
      expect(totals).toMatchObject({ requests: 1, costMicros: 1000, openMicros: 0 });
      expect(totals.unknown).toMatchObject([{ keys: [keyOf(2)], reason: 'given up before an answer landed' }]);
      expect((await journal.claim([keyOf(2)], 'b')).mine).toMatchObject([{ key: keyOf(2), unknowns: 1 }]);
    });

    it('keeps a purchase open that runs at the service, after the end of its owner and its process, until it lands', async () => {
      const { journal, reopen } = await open();
      await journal.claim([keyOf(1)], 'a');
      const intendedAt = Date.now();
      const id = await journal.intend(intent('a', [1]));
      await journal.note(id, 'a', { run: 'run-1', requestId: 'r' });
      await journal.release('a');
      const [handed] = (await journal.claim([keyOf(1)], 'b')).mine;
      expect(handed).toMatchObject({ unknowns: 0, started: { intentId: id, facts: { run: 'run-1', requestId: 'r' } } });
      expect(Math.abs((handed?.started?.at ?? 0) - intendedAt)).toBeLessThan(10_000);
      const again = await reopen();
      expect(await again.totals('job/')).toMatchObject({ requests: 0, openMicros: 1000, unknown: [] });
      expect(await again.totals('job/', Date.now() - 3_600_000)).toMatchObject({ openSinceMicros: 1000 });
      expect(await again.totals('job/', Date.now() + 3_600_000)).toMatchObject({
        openMicros: 1000,
        openSinceMicros: 0,
      });
      expect((await again.claim([keyOf(1)], 'c')).mine).toEqual([handed]);
      expect((await again.claim([keyOf(1)], 'd')).theirs).toEqual([keyOf(1)]);
      await again.land(id, { requestId: 'r', fetchedAt: Date.now(), units: [outcome(1, { costMicros: 300 })] });
      const last = await reopen();
      expect((await last.claim([keyOf(1)], 'e')).landed).toHaveLength(1);
      expect(await last.totals('job/')).toMatchObject({ requests: 1, openMicros: 0, costMicros: 300, unknown: [] });
    });

    it('reports which purchase got lost, and reopens it when its run is found', async () => {
      const { journal, reopen } = await open();
      await journal.claim([keyOf(1)], 'a');
      const { deadline } = intent('a', [1]);
      const id = await journal.intend({ ...intent('a', [1]), deadline });
      const again = await reopen();
      const [lost] = (await again.claim([keyOf(1)], 'b')).mine;
      expect(lost).toMatchObject({ unknowns: 1, lost: { intentId: id, deadline } });
      expect(Math.abs((lost?.lost?.at ?? 0) - Date.now())).toBeLessThan(10_000);
      await again.note(id, 'b', { run: 'run-1' });
      expect(await again.totals('job/')).toMatchObject({ openMicros: 1000, unknown: [] });
      const last = await reopen();
      const [found] = (await last.claim([keyOf(1)], 'c')).mine;
      expect(found).toMatchObject({ unknowns: 0, started: { intentId: id, facts: { run: 'run-1' } } });
      expect(found?.lost).toBeUndefined();
      await last.note(id, 'c', { run: 'run-1' });
      await last.land(id, { requestId: null, fetchedAt: Date.now(), units: [outcome(1)] });
      expect(await last.totals('job/')).toMatchObject({ requests: 1, openMicros: 0, unknown: [] });
    });

    it('removes a lost purchase that is found never to have begun, and lets the unit be bought', async () => {
      const { journal, reopen } = await open();
      const id = await begun(journal, 'a', [1]);
      const again = await reopen();
      await again.claim([keyOf(1)], 'b');
      await again.note(id, 'b', { run: null });
      await again.miss(id, 'it started nothing', 'never');
      expect(await again.totals('job/')).toMatchObject({ requests: 0, openMicros: 0, costMicros: 0, unknown: [] });
      const bought = await again.intend(intent('b', [1]));
      await again.land(bought, { requestId: null, fetchedAt: Date.now(), units: [outcome(1)] });
      const last = await reopen();
      expect(await last.totals('job/')).toMatchObject({ requests: 1, openMicros: 0, unknown: [] });
      expect((await last.claim([keyOf(1)], 'c')).landed).toHaveLength(1);
    });

    it('closes a purchase whose run is gone as an unknown outcome, and rejects a note for an unknown intent', async () => {
      const { journal, reopen } = await open();
      const id = await begun(journal, 'a', [1]);
      await journal.note(id, 'a', { run: 'run-1' });
      await journal.miss(id, 'the run is gone', 'maybe');
      await expect(journal.note('00000000-0000-4000-8000-000000000000', 'a', {})).rejects.toThrow('no');
      const again = await reopen();
      expect((await again.totals('job/')).unknown).toMatchObject([{ keys: [keyOf(1)], reason: 'the run is gone' }]);
      expect((await again.claim([keyOf(1)], 'b')).mine).toMatchObject([{ unknowns: 1, lost: { intentId: id } }]);
    });

    it('hands out a run although its unit was recorded as overdue meanwhile, also after a restart', async () => {
      const { journal, reopen } = await open();
      const key = keyOf(1);
      await journal.claim([key], 'a');
      const id = await journal.intend(intent('a', [1]));
      await journal.note(id, 'a', { run: 'run-1' });
      await journal.recordOutcomes('a', 'job/gen/000000', 'contents', [
        outcome(1, { status: 'error', errorTag: 'RUN_OVERDUE' }),
      ]);
      await journal.release('a');
      expect(await journal.lookup([key])).toMatchObject([{ errorTag: 'RUN_OVERDUE' }]);
      expect((await journal.claim([key], 'b')).mine).toMatchObject([{ key, started: { intentId: id } }]);
      const again = await reopen();
      expect((await again.claim([key], 'c')).mine).toMatchObject([{ key, started: { intentId: id } }]);
    });

    it('hands out a run also if an earlier answer of the unit has landed', async () => {
      const { journal, reopen } = await open();
      await buy(journal, 'a', [1]);
      await journal.claim([keyOf(1)], 'b', { freshAfter: Number.MAX_SAFE_INTEGER });
      const id = await journal.intend(intent('b', [1]));
      await journal.note(id, 'b', { run: 'run-2' });
      const again = await reopen();
      expect((await again.lookup([keyOf(1)])).map(({ key }) => key)).toEqual([keyOf(1)]);
      expect((await again.claim([keyOf(1)], 'c')).mine).toMatchObject([{ started: { intentId: id } }]);
      await again.miss(id, 'never began', 'never');
      await again.release('c');
      expect((await again.claim([keyOf(1)], 'd')).landed).toHaveLength(1);
    });

    it('counts the unknown outcomes of a unit until it is found or has landed', async () => {
      const { journal, reopen } = await open();
      const lose = async () => {
        await journal.claim([keyOf(1)], 'a', { freshAfter: Date.now() + 60_000 });
        const id = await journal.intend(intent('a', [1]));
        await journal.miss(id, 'connection reset', 'maybe');
        await journal.release('a');
        return id;
      };
      const unknowns = async (one: Journal) => {
        const { mine } = await one.claim([keyOf(1)], 'b', { freshAfter: Date.now() + 60_000 });
        await one.release('b');
        return mine.map((unit) => unit.unknowns);
      };
      await lose();
      const found = await lose();
      expect(await unknowns(journal)).toEqual([2]);
      await journal.note(found, 'a', { run: 'run 1' });
      expect(await unknowns(journal)).toEqual([1]);
      await journal.land(found, { requestId: null, fetchedAt: Date.now(), units: [outcome(1)] });
      expect(await unknowns(journal)).toEqual([0]);
      expect(await unknowns(await reopen())).toEqual([0]);
    });

    it('sums requests, units and money by segment', async () => {
      const { journal, reopen } = await open();
      await buy(journal, 'a', [1, 2], 'job/gen/000000');
      await buy(journal, 'b', [3], 'other/gen/000000');
      await journal.claim([keyOf(4)], 'c');
      await journal.intend(intent('c', [4], 'job/gen/000001'));
      expect(await journal.totals('job/')).toMatchObject({
        requests: 1,
        unitsLanded: 2,
        costMicros: 2000,
        openMicros: 1000,
      });
      expect(await (await reopen()).totals('other/')).toMatchObject({
        requests: 1,
        unitsLanded: 1,
        costMicros: 1000,
        openMicros: 0,
      });
    });

    it('records units without a purchase, with their outcome', async () => {
      const { journal, reopen } = await open();
      await journal.claim([keyOf(1)], 'a');
      const refused = outcome(1, {
        status: 'error',
        errorTag: 'INVALID_URLS',
        httpStatus: 400,
        costMicros: 0,
        result: { error: 'no' },
      });
      await journal.recordOutcomes('a', 'job/gen/000000', 'contents', [refused]);
      // Another owner can claim the units at once, while their first owner still lives.
      expect((await journal.claim([keyOf(1)], 'b')).landed).toHaveLength(1);
      const landed = (await (await reopen()).claim([keyOf(1)], 'b')).landed;
      expect(landed).toMatchObject([{ key: keyOf(1), status: 'error', errorTag: 'INVALID_URLS' }]);
    });

    it('allows another purchase of outdated units, and of earlier failures with a tag to be retried', async () => {
      const { journal } = await open();
      const id = await begun(journal, 'a', [1, 2]);
      const failed = outcome(2, { status: 'error', errorTag: 'CRAWL_TIMEOUT' });
      await journal.land(id, { requestId: null, fetchedAt: 1000, units: [outcome(1), failed] });
      const mine = async (freshness: object) => {
        const claim = await journal.claim([keyOf(1), keyOf(2)], 'b', freshness);
        await journal.release('b');
        return claim.mine.map((unit) => unit.key);
      };
      expect(await mine({})).toEqual([]);
      expect(await mine({ freshAfter: 1001 })).toEqual([keyOf(1), keyOf(2)]);
      expect(await mine({ freshAfter: 1000 })).toEqual([]);
      expect(await mine({ retryTags: ['CRAWL_TIMEOUT'], retryBefore: 2000 })).toEqual([keyOf(2)]);
      expect(await mine({ retryTags: ['CRAWL_TIMEOUT'], retryBefore: 1000 })).toEqual([]);
      expect(await mine({ retryTags: ['OTHER'], retryBefore: 2000 })).toEqual([]);
    });

    it('counts the cost of a unit that ended with its job, and lets the next owner buy it', async () => {
      const { journal, reopen } = await open();
      await journal.claim([keyOf(1), keyOf(2)], 'a');
      const ended = outcome(1, { status: 'error', errorTag: ENDED_WITH_JOB, costMicros: 700 });
      const units = [ended, outcome(2, { status: 'error', errorTag: 'RUN_CANCELLED' })];
      await journal.land(await journal.intend(intent('a', [1, 2])), { requestId: null, fetchedAt: Date.now(), units });
      await journal.release('a');
      const check = async (one: Journal) => {
        for (const freshness of [undefined, { freshAfter: 0 }, { retryTags: ['OTHER'], retryBefore: Date.now() * 2 }]) {
          const { mine } = await one.claim([keyOf(1), keyOf(2)], 'b', freshness);
          await one.release('b');
          expect(mine.map((unit) => unit.key)).toEqual([keyOf(1)]);
          expect((await one.lookup([keyOf(1), keyOf(2)], freshness)).map((unit) => unit.key)).toEqual([keyOf(2)]);
        }
        expect(await one.totals('job/')).toMatchObject({ costMicros: 1700, unknown: [] });
      };
      await check(journal);
      await check(await reopen());
    });

    it('keeps bodies unchanged, in any segment, and exports them to a warehouse as files', async () => {
      const { journal, reopen, scratch } = await open();
      await buy(journal, 'a', [1, 2], 'job/gen/000000');
      await buy(journal, 'b', [3], 'earlier/gen/000000');
      const again = await reopen();
      const records = await again.read([keyOf(1), keyOf(3), keyOf(9)]);
      expect([...records.keys()].sort()).toEqual([keyOf(1), keyOf(3)]);
      expect(records.get(keyOf(1))).toMatchObject({
        unit: 'https://example.com/1',
        request_id: 'req-a',
        cost_micros: 1000,
        result: outcome(1).result,
      });
      const { readFile } = await import('node:fs/promises');
      const files = await again.unitFiles('job/gen/000000', [keyOf(1), keyOf(3)], scratch);
      const lines = (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('').trim().split('\n');
      const keys = lines.map((line) => (JSON.parse(line) as { key: string }).key);
      expect(keys).toEqual(expect.arrayContaining([keyOf(1), keyOf(3)]));
    });

    it('keeps unusual values unchanged: NUL, lone surrogates, line separators, a megabyte (45)', async () => {
      const { journal, reopen, scratch } = await open();
      const odd = {
        '\u0000': '\ud800 \udfff \u2028\u2029\n\r\\',
        big: 'x\u0000ü"'.repeat(250_000),
        number: 1e308,
        deep: [[[]]],
      };
      const units = [outcome(1, { result: odd }), outcome(2, { status: 'error', errorTag: 'ODD', result: null })];
      await journal.claim([keyOf(1), keyOf(2)], 'a');
      await journal.land(await journal.intend(intent('a', [1, 2])), { requestId: 'r\u0000', fetchedAt: 1000, units });
      const again = await reopen();
      const record = (await again.read([keyOf(1)])).get(keyOf(1));
      expect(record?.result).toEqual(odd);
      expect(record?.request_id).toBe('r\u0000');
      const { readFile } = await import('node:fs/promises');
      const files = await again.unitFiles('other/gen/000000', [keyOf(1), keyOf(2)], scratch);
      const lines = (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('').trim().split('\n');
      expect(lines.map((line) => (JSON.parse(line) as { result: unknown }).result)).toEqual([odd, null]);
    });

    it('exports no file for a unit that has not landed', async () => {
      const { journal, scratch } = await open();
      await buy(journal, 'a', [1]);
      await expect(journal.unitFiles('job/gen/000000', [keyOf(1), keyOf(2)], scratch)).rejects.toThrow(
        'has not landed',
      );
    });

    it('removes only the bodies of old segments, still knows their purchases, and buys again only on request', async () => {
      const { journal, reopen, scratch } = await open();
      await buy(journal, 'a', [1]);
      await buy(journal, 'b', [2], 'other/gen/000000');
      const again = (await reopen()) as Journal & Pick<PurchaseJournal, 'prunableBytes'>;
      expect(await again.prune('job/', Date.now() - 60_000)).toBe(0);
      expect(await again.prunableBytes('job/', Date.now() - 60_000)).toBe(0);
      expect(await again.prunableBytes('job/', Date.now() + 60_000)).toBeGreaterThan(50);
      expect(await again.prune('job/', Date.now() + 60_000)).toBe(1);
      expect(await again.prunableBytes('job/', Date.now() + 60_000)).toBe(0);
      expect(await again.prune('job/', Date.now() + 60_000)).toBe(0);
      // The loss is known at once, and not only after a failed read.
      const rebuyBefore = Date.now() + 1;
      expect((await again.lookup([keyOf(1), keyOf(2)], { rebuyBefore })).map(({ key }) => key)).toEqual([keyOf(2)]);
      expect(await again.unitFiles('other/gen/000000', [keyOf(2)], scratch)).toHaveLength(1);
      await expect(again.unitFiles('job/gen/000000', [keyOf(1)], scratch)).rejects.toThrow(/1 bought answer.*--rebuy/);
      await expect(again.read([keyOf(1)])).rejects.toThrow('--rebuy');
      expect((await again.claim([keyOf(1), keyOf(2)], 'b')).landed).toHaveLength(2);
      expect((await again.claim([keyOf(1), keyOf(2)], 'c', { rebuyBefore })).mine).toEqual([
        { key: keyOf(1), unknowns: 0 },
      ]);
    });

    it('lets the next owner in the same process land a noted purchase that was released', async () => {
      const { journal } = await open();
      const id = await begun(journal, 'a', [1]);
      await journal.note(id, 'a', { run: 'run-1' });
      await journal.release('a');
      const { mine } = await journal.claim([keyOf(1)], 'b');
      expect(mine).toMatchObject([{ key: keyOf(1), unknowns: 0, started: { intentId: id, facts: { run: 'run-1' } } }]);
      await journal.land(id, { requestId: null, fetchedAt: 1, units: [outcome(1)] });
      expect(await journal.totals('job/')).toMatchObject({ requests: 1, openMicros: 0, unknown: [] });
      expect((await journal.claim([keyOf(1)], 'c')).landed).toHaveLength(1);
    });

    it('uses the newest answer of a key, in any order of landing', async () => {
      const { journal, reopen } = await open();
      for (const [at, segment] of [
        [2000, 'a/g/0'],
        [1000, 'z/g/0'],
      ] as const) {
        await journal.claim([keyOf(1)], 'a', { freshAfter: Number.MAX_SAFE_INTEGER });
        const id = await journal.intend(intent('a', [1], segment));
        await journal.land(id, { requestId: String(at), fetchedAt: at, units: [outcome(1)] });
      }
      expect((await (await reopen()).read([keyOf(1)])).get(keyOf(1))?.request_id).toBe('2000');
    });
  });
}
