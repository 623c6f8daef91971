import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Intent, UnitOutcome } from '../../../src/core/purchase/journal.js';
import { OverBudget } from '../../../src/core/purchase/spend.js';
import { FileJournal } from '../../../src/store/file/file-journal.js';
import type { PgJournal } from '../../../src/store/postgres/journal/pg-journal.js';
import { folderOfFile } from '../../support/files/folders.js';
import { ofFile } from '../../support/of-file.js';
import { intent, keyOf, outcome } from '../../support/store/journal-contract.js';
import { startPgStores } from '../../support/store/pg-store.js';
import type { PurchaseJournal } from '../../support/store/spend-contract.js';

const root = folderOfFile();
const files: FileJournal[] = [];
const stores = ofFile(startPgStores);
afterAll(async () => {
  for (const journal of files) await journal.close();
});

let count = 0;
async function fileJournal(dir: string, now?: () => number): Promise<FileJournal> {
  const journal = await FileJournal.open(dir, { writes: true, team: 'team', ...(now ? { now } : {}) });
  files.push(journal);
  return journal;
}

/** An empty store of each kind, and a function that opens its journal again after the death of its process. */
const kinds: readonly [
  name: string,
  open: () => Promise<{ journal: PurchaseJournal; reopen(): Promise<PurchaseJournal> }>,
][] = [
  [
    'a folder',
    async () => {
      const dir = join(root, String(++count));
      return { journal: await fileJournal(dir), reopen: () => fileJournal(dir) };
    },
  ],
  [
    'PostgreSQL',
    async () => {
      const url = stores.url();
      const first = await stores.journal(url);
      const reopen = async () => {
        await first.journal.close();
        return (await stores.journal(url)).journal;
      };
      return { journal: first.journal, reopen };
    },
  ],
];

const cap = { bookPrefix: 'job/', limitMicros: 1_000_000 };
let used = 0;

/** Writes an intent for this many units at a list price of 1,000 micro-dollars each. */
async function ask(journal: PurchaseJournal, units = 1, changes: Partial<Intent> = {}): Promise<string> {
  const numbers = Array.from({ length: units }, () => ++used);
  await journal.claim(numbers.map(keyOf), 'owner');
  return journal.intend({ ...intent('owner', numbers), cap, ...changes });
}

/** Lands an answer with this cost of each unit; failed units are free. */
async function land(journal: PurchaseJournal, id: string, micros: number, units = 1, failed = 0): Promise<void> {
  const units_ = Array.from({ length: units }, (_, index): UnitOutcome => {
    const error = { status: 'error', errorTag: 'CRAWL_TIMEOUT', costMicros: 0 } as const;
    return outcome(++used, index < failed ? error : { costMicros: micros });
  });
  await journal.land(id, { requestId: null, fetchedAt: Date.now(), units: units_ });
}

const refused = async (asked: Promise<unknown>): Promise<OverBudget> => {
  const error = await asked.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(OverBudget);
  return error as OverBudget;
};

const openMicros = async (journal: PurchaseJournal) => (await journal.totals('job/')).openMicros;

describe.each(kinds)('a cap with prices that differ from the table, in %s', (_name, open) => {
  it('allows two requests of a kind in flight until three answers have landed', async () => {
    const { journal } = await open();
    const [first, second] = [await ask(journal), await ask(journal)];
    expect(await refused(ask(journal))).toMatchObject({ scope: 'job', unproven: true, openMicros: 2000 });
    await land(journal, first, 1000);
    const third = await ask(journal);
    await refused(ask(journal));
    await land(journal, second, 1000);
    await land(journal, third, 1000);
    for (let request = 0; request < 20; request++) await ask(journal);
  });

  it('does not wait for runs that were left running, until they are followed again', async () => {
    const { journal, reopen } = await open();
    const overdue = { status: 'error', errorTag: 'RUN_OVERDUE', costMicros: 0 } as const;
    const runs: number[] = [];
    for (let run = 0; run < 2; run++) {
      const id = await ask(journal);
      runs.push(used);
      await journal.note(id, 'owner', { run: id });
      expect((await journal.totals('job/')).openMicros).toBe(1000 * (run + 1));
    }
    await refused(ask(journal));
    for (const run of runs)
      await journal.recordOutcomes('owner', 'job/gen/000000', 'contents', [outcome(run, overdue)]);
    const follows = await ask(journal);
    // These runs may still cost money, so their estimates count against the cap.
    expect(await refused(ask(journal, 1, { cap: { ...cap, limitMicros: 3500 } }))).toMatchObject({
      remainingMicros: 500,
      openMicros: 1000,
      unproven: false,
    });
    await journal.miss(follows, 'not sent', 'never');
    const again = await reopen();
    // Nothing that is followed can free a part of the cap, so a request that exceeds the cap need not wait.
    expect(await refused(ask(again, 1, { cap: { ...cap, limitMicros: 2500 } }))).toMatchObject({ openMicros: 0 });
    await again.setCaps({ dayMicros: 2500, monthMicros: 2600 });
    expect(await refused(ask(again, 1, { cap: undefined }))).toMatchObject({ scope: 'day', openMicros: 0 });
    await again.setCaps({ dayMicros: null, monthMicros: null });
    await ask(again);
    const retry = { retryTags: ['RUN_OVERDUE'], retryBefore: Date.now() + 1000 };
    const claim = await again.claim(runs.map(keyOf), 'retry', retry);
    expect(claim.mine.map(({ started }) => started !== undefined)).toEqual([true, true]);
    await refused(ask(again));
  });

  it('counts each operation and tier separately, and each job', async () => {
    const { journal } = await open();
    const low = { operation: 'agent', tier: 'low' };
    for (let request = 0; request < 2; request++) await ask(journal, 1, low);
    await refused(ask(journal, 1, low));
    await ask(journal, 1, { ...low, tier: 'high' });
    await ask(journal, 1, { ...low, operation: 'search' });
    const other = { segment: 'other/gen/000000', cap: { ...cap, bookPrefix: 'other/' } };
    await ask(journal, 1, { ...low, ...other });
  });

  it('holds nothing back without a cap, or if nothing costs money', async () => {
    const { journal } = await open();
    for (let request = 0; request < 5; request++) await ask(journal, 1, { cap: undefined });
    for (let request = 0; request < 5; request++) await ask(journal, 0, { estimateMicros: 0, operation: 'free' });
  });

  it('limits the daily budget of a team in the same way', async () => {
    const { journal } = await open();
    await journal.setCaps({ dayMicros: 50_000, monthMicros: null });
    const lone = { cap: undefined, segment: 'calls/2026-11-21' };
    for (let request = 0; request < 2; request++) await ask(journal, 1, lone);
    expect(await refused(ask(journal, 1, lone))).toMatchObject({ scope: 'day', unproven: true });
  });

  it('subtracts from the cap the cost of answers, in proportion to the list price', async () => {
    const { journal, reopen } = await open();
    for (let answer = 0; answer < 3; answer++) await land(journal, await ask(journal, 2), 2600, 2);
    await ask(journal, 3);
    expect(await openMicros(journal)).toBe(3 * 2600);
    expect(await journal.totals('job/')).toMatchObject({ costMicros: 15_600, listMicros: 6000 });
    const small = { ...cap, limitMicros: 15_600 + 3 * 2600 + 2600 };
    expect(await refused(ask(journal, 2, { cap: small }))).toMatchObject({ remainingMicros: 2600, multiple: 2.6 });
    // The prices are known from the journal, so they are the same after a crash. The lost request counts at this price, too.
    const again = await reopen();
    expect((await again.totals('job/')).unknown).toMatchObject([{ estimateMicros: 7800 }]);
    await ask(again, 1, { cap: small });
    expect(await openMicros(again)).toBe(2600);
  });

  it('counts a lost request at its likely price, also after the next crash', async () => {
    const { journal, reopen } = await open();
    const auto = { operation: 'search', estimateMicros: 15_000, listMicros: 7000 };
    for (let answer = 0; answer < 2; answer++) await land(journal, await ask(journal, 1, auto), 7000);
    await journal.miss(await ask(journal, 1, auto), 'no answer', 'maybe');
    await land(journal, await ask(journal, 1, auto), 7000);
    await journal.miss(await ask(journal, 1, auto), 'no answer', 'maybe');
    await ask(journal, 1, auto);
    const counts = { landedMicros: 21_000, openMicros: 0, unknownMicros: 15_000 + 2 * 7000 };
    const again = await reopen();
    for (const one of [again, await reopen()]) {
      expect((await one.spent()).day).toMatchObject(counts);
      const { unknown } = await one.totals('job/');
      expect(unknown.map(({ estimateMicros }) => estimateMicros)).toEqual([15_000, 7000, 7000]);
    }
  });

  it('uses the 95th percentile of the newest hundred answers', async () => {
    const { journal } = await open();
    await land(journal, await ask(journal), 90_000);
    for (let answer = 1; answer <= 100; answer++) await land(journal, await ask(journal), 1000 + 10 * answer);
    await ask(journal);
    expect(await openMicros(journal)).toBe(1950);
  });

  it('never goes below the estimate, however cheap the answers were', async () => {
    const { journal } = await open();
    // A search of type auto has a range of prices; its list price is the lower end of the range.
    const auto = { operation: 'search', estimateMicros: 15_000, listMicros: 7000 };
    for (let answer = 0; answer < 3; answer++) await land(journal, await ask(journal, 1, auto), 7000);
    await ask(journal, 1, auto);
    expect(await openMicros(journal)).toBe(15_000);
    await land(journal, await ask(journal, 1, auto), 21_000);
    await ask(journal, 1, auto);
    expect(await openMicros(journal)).toBe(15_000 + 21_000);
  });

  it('counts failed units as free, and learns no price if all of them failed', async () => {
    const { journal } = await open();
    await land(journal, await ask(journal, 4), 2000, 4, 3);
    await land(journal, await ask(journal, 4), 2000, 4, 4);
    await land(journal, await ask(journal, 4), 2000, 4, 4);
    await ask(journal);
    await ask(journal);
    expect(await openMicros(journal)).toBe(4000);
    expect(await refused(ask(journal))).toMatchObject({ unproven: true });
  });

  it('counts runs at the service as in flight after their start, also after a crash', async () => {
    const { journal, reopen } = await open();
    for (let run = 0; run < 2; run++) await journal.note(await ask(journal), 'owner', { run: `run-${run}` });
    expect(await refused(ask(await reopen()))).toMatchObject({ unproven: true });
  });
});

it('processes that share a store have two requests in flight together, and learn from each other', async () => {
  const url = stores.url();
  const workers = await Promise.all([0, 1, 2].map(async () => (await stores.journal(url)).journal));
  const [one, two] = workers as [PgJournal, PgJournal, PgJournal];
  const asked = await Promise.allSettled(workers.flatMap((journal) => [ask(journal), ask(journal)]));
  const intents = asked.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
  expect(intents).toHaveLength(2);
  for (const id of intents) await land(one, id, 2600);
  await land(two, await ask(two), 2600);
  await Promise.all(workers.map((journal) => ask(journal)));
  expect(await openMicros(one)).toBe(3 * 2600);
});

it('a new day starts with two in flight, because prices change by the day', async () => {
  let now = Date.parse('2026-11-21T12:00:00Z');
  const journal = await fileJournal(join(root, String(++count)), () => now);
  for (let answer = 0; answer < 3; answer++) await land(journal, await ask(journal), 1000);
  for (let request = 0; request < 3; request++) await ask(journal);
  now += 86_400_000;
  for (let request = 0; request < 2; request++) await ask(journal);
  expect(await refused(ask(journal))).toMatchObject({ unproven: true });
});
