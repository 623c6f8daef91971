import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ClaimLost } from '../../../src/core/purchase/journal.js';
import { identifier } from '../../../src/postgres/index.js';
import { PgJournal } from '../../../src/store/postgres/journal/pg-journal.js';
import { ofFile } from '../../support/of-file.js';
import { begun, intent, keyOf, outcome } from '../../support/store/journal-contract.js';
import { startPgStores, takeAllForDead } from '../../support/store/pg-store.js';

const stores = ofFile(startPgStores);

/**
 * Two processes. One has a request for units 1 and 2 in flight and was declared dead while it was stopped or cut off, without knowing it.
 */
async function zombie() {
  const url = stores.url();
  const { journal: dead } = await stores.journal(url);
  await dead.claim([1, 2, 3].map(keyOf), 'dead');
  const id = await dead.intend(intent('dead', [1, 2]));
  await takeAllForDead(await stores.connect(url));
  const { journal: successor } = await stores.journal(url);
  const land = () =>
    dead.land(id, { requestId: 'late', fetchedAt: Date.now(), units: [outcome(1), outcome(2, { costMicros: 500 })] });
  const requestOf = async (number: number) => (await successor.read([keyOf(number)])).get(keyOf(number))?.request_id;
  return { dead, successor, id, land, requestOf };
}

const answer = (requestId: string, numbers: number[]) => ({
  requestId,
  fetchedAt: Date.now(),
  units: numbers.map((number) => outcome(number)),
});

async function sums(journal: PgJournal) {
  const { landedMicros, openMicros, unknownMicros } = (await journal.spent()).day;
  return { landedMicros, openMicros, unknownMicros };
}

describe('a process that was declared dead', () => {
  it('loses its claims, and its requests in flight are unknown outcomes, once, for every reader', async () => {
    const { dead, successor } = await zombie();
    for (const journal of [dead, successor]) {
      expect((await journal.totals('job/')).unknown).toMatchObject([
        {
          keys: [keyOf(1), keyOf(2)],
          reason: 'the process ended before an answer landed',
          estimateMicros: 2000,
        },
      ]);
    }
    expect(await sums(successor)).toEqual({ landedMicros: 0, openMicros: 0, unknownMicros: 2000 });
    const claim = await successor.claim([1, 3].map(keyOf), 'heir');
    expect(claim.mine).toMatchObject([
      { key: keyOf(1), unknowns: 1 },
      { key: keyOf(3), unknowns: 0 },
    ]);
  });

  it('still lands its answer, which removes the unknown outcome', async () => {
    const { successor, land } = await zombie();
    await land();
    expect(await successor.totals('job/')).toMatchObject({ requests: 1, costMicros: 1500, openMicros: 0, unknown: [] });
    expect(await sums(successor)).toEqual({ landedMicros: 1500, openMicros: 0, unknownMicros: 0 });
    expect((await successor.claim([keyOf(1), keyOf(2)], 'heir')).landed).toHaveLength(2);
    await land();
    expect((await successor.totals('job/')).costMicros).toBe(1500);
  });

  it('does not replace units that were bought again; its own purchase counts, and is listed as bought twice', async () => {
    const { successor, land, requestOf } = await zombie();
    await successor.claim([keyOf(1)], 'heir');
    await successor.land(await successor.intend(intent('heir', [1])), answer('again', [1]));
    await land();
    expect([await requestOf(1), await requestOf(2)]).toEqual(['again', 'late']);
    const totals = await successor.totals('job/');
    expect(totals).toMatchObject({ requests: 2, costMicros: 2500 });
    expect(totals.unknown).toMatchObject([
      { keys: [keyOf(1), keyOf(2)], estimateMicros: 0, reason: expect.stringMatching(/^bought twice: 1 of its 2/) },
    ]);
    expect(await sums(successor)).toEqual({ landedMicros: 2500, openMicros: 0, unknownMicros: 0 });
  });

  it('prevents another purchase of its units when it lands first', async () => {
    const { successor, land } = await zombie();
    await successor.claim([1, 2, 3].map(keyOf), 'heir');
    await land();
    await expect(successor.intend(intent('heir', [1, 2]))).rejects.toThrow(ClaimLost);
    await successor.intend(intent('heir', [3]));
    const claim = await successor.claim([1, 2, 3].map(keyOf), 'heir');
    expect(claim.landed).toHaveLength(2);
    expect(claim.mine).toEqual([{ key: keyOf(3), unknowns: 0 }]);
  });

  it('has its units listed as bought twice if another request for them was in flight when it landed', async () => {
    const { successor, land, requestOf } = await zombie();
    const id = await begun(successor, 'heir', [1]);
    await land();
    await successor.land(id, answer('again', [1]));
    expect(await requestOf(1)).toBe('late');
    const totals = await successor.totals('job/');
    expect(totals).toMatchObject({ requests: 2, costMicros: 2500 });
    expect(totals.unknown).toMatchObject([{ keys: [keyOf(1)], reason: expect.stringMatching(/^bought twice: 1 of/) }]);
  });

  it('removes an unknown outcome for a request that it never sent', async () => {
    const { dead, successor, id } = await zombie();
    await dead.miss(id, 'held back before it was sent', 'never');
    expect(await successor.totals('job/')).toMatchObject({ openMicros: 0, unknown: [] });
    expect(await sums(successor)).toEqual({ landedMicros: 0, openMicros: 0, unknownMicros: 0 });
    expect((await successor.claim([keyOf(1)], 'heir')).mine).toEqual([{ key: keyOf(1), unknowns: 0 }]);
  });

  it('buys nothing more with its old claims, but can claim again', async () => {
    const { dead, successor } = await zombie();
    await expect(dead.intend(intent('dead', [3]))).rejects.toThrow(ClaimLost);
    await expect(dead.recordOutcomes('dead', 'job/gen/0', 'contents', [outcome(3)])).rejects.toThrow(ClaimLost);
    expect((await dead.claim([keyOf(3)], 'dead-2')).mine).toHaveLength(1);
    await dead.intend(intent('dead-2', [3]));
    expect((await successor.claim([keyOf(3)], 'heir')).theirs).toEqual([keyOf(3)]);
  });

  it('is listed as a worker again once it has registered again', async () => {
    const url = stores.url();
    const [{ journal: dead }, { journal: heir }] = [await stores.journal(url), await stores.journal(url)];
    await dead.works('rows');
    await takeAllForDead(await stores.connect(url));
    expect(await heir.workersOn('rows')).toEqual([]);
    await dead.claim([keyOf(1)], 'dead');
    await heir.claim([keyOf(2)], 'heir');
    expect(await heir.workersOn('rows')).toMatchObject([{ pid: process.pid, team: 'team' }]);
    expect(await dead.workersOn('rows')).toEqual([]);
  });

  it('registers again by its heartbeat, so that an idle worker stays listed', async () => {
    const url = stores.url();
    const { journal: heir } = await stores.journal(url);
    const idle = await PgJournal.open(await stores.connect(url), { team: 'team', deadAfterMs: 3000 });
    onTestFinished(() => idle.close());
    await idle.works('rows');
    await takeAllForDead(await stores.connect(url));
    await expect.poll(() => heir.workersOn('rows'), { timeout: 10_000 }).toHaveLength(1);
  });

  it('replaces a unit that was given up meanwhile with its success', async () => {
    const { successor, land, requestOf } = await zombie();
    await successor.claim([keyOf(1)], 'heir');
    const failed = outcome(1, { status: 'error', errorTag: 'UNKNOWN_OUTCOME', costMicros: 0, result: null });
    await successor.recordOutcomes('heir', 'job/gen/000000', 'contents', [failed]);
    await land();
    expect(await requestOf(1)).toBe('late');
    expect(await successor.lookup([keyOf(1)])).toMatchObject([{ status: 'success', errorTag: null }]);
    expect((await successor.totals('job/')).unknown).toEqual([]);
  });
});

it('a process that shuts down releases its claims at once', async () => {
  const url = stores.url();
  const postgres = await stores.connect(url);
  const journal = await PgJournal.open(postgres, { team: 'team' });
  await journal.claim([keyOf(1), keyOf(2)], 'a');
  await journal.intend(intent('a', [1]));
  await journal.close();
  const { journal: next } = await stores.journal(url);
  expect((await next.claim([keyOf(1), keyOf(2)], 'b')).mine).toMatchObject([
    { key: keyOf(1), unknowns: 1 },
    { key: keyOf(2), unknowns: 0 },
  ]);
});

describe('a process that had no connection to the database', () => {
  it('declares no other process dead at first, because the others may have been cut off, too', async () => {
    const postgres = await stores.connect(stores.url());
    const schema = identifier(postgres.address.schema);
    const [one, other] = [randomUUID(), randomUUID()];
    const beat = () => postgres.query(`SELECT ${schema}.heartbeat($1)`, [one]);
    const known = async () => (await postgres.query<{ id: string }>(`SELECT id FROM ${schema}.processes`)).length;
    for (const id of [one, other]) await postgres.query(`SELECT ${schema}.register_process($1, 'host', 1, 500)`, [id]);
    const away = `SELECT clock_timestamp() - pg_postmaster_start_time() > interval '500 ms' AS long`;
    while (!(await postgres.query<{ long: boolean }>(away))[0]?.long) await delay(20);
    await postgres.query(`UPDATE ${schema}.processes SET seen_at = seen_at - interval '1 year'`);
    await beat();
    expect(await known()).toBe(2);
    while ((await known()) > 1) await beat();
  });

  it('declares no process dead when it joins: it waits until it has reported itself', async () => {
    const { journal: living, postgres } = await stores.journal(stores.url());
    const schema = identifier(postgres.address.schema);
    await begun(living, 'living', [1]);
    await postgres.query(
      `UPDATE ${schema}.processes SET seen_at = clock_timestamp() - interval '1 minute', dead_after = '0.5 s'`,
    );
    const newcomer = randomUUID();
    await postgres.query(`SELECT ${schema}.register_process($1, 'host', 1, 3600000)`, [newcomer]);
    await postgres.query(`SELECT ${schema}.heartbeat($1)`, [newcomer]);
    expect((await living.totals('job/')).unknown).toEqual([]);
    expect(await postgres.query(`SELECT FROM ${schema}.processes`)).toHaveLength(2);
    await postgres.query(`UPDATE ${schema}.processes SET dead_after = '1 h' WHERE id <> $1`, [newcomer]);
  });
});
