import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RateCost } from '../../../src/core/limiter/limiter.js';
import { flatProfile, type RateProfile, rateProfiles, withKeyLimit } from '../../../src/core/limiter/rate.js';
import { identifier, type PgLimits, type Postgres } from '../../../src/postgres/index.js';
import { fileRates } from '../../../src/store/limiter/file-rates.js';
import { QueuedLimiter } from '../../../src/store/limiter/queued-limiter.js';
import { SharedRates } from '../../../src/store/limiter/shared-rates.js';
import { pgRates } from '../../../src/store/postgres/pg-rates.js';
import { folderOfFile } from '../../support/files/folders.js';
import { limiterContract, mostInASecond, pass } from '../../support/store/limiter-contract.js';
import { type PgStores, startPgStores } from '../../support/store/pg-store.js';

let stores: PgStores;
let postgres: Postgres;
const dir = folderOfFile();
beforeAll(async () => {
  stores = await startPgStores();
  postgres = await stores.connect(stores.url());
});
afterAll(() => stores.stop());

const one: RateCost = { rateClass: 'contents', weight: 1 };

const onPostgres = (team: string, profile: RateProfile = flatProfile(20), key = 'key', over: Postgres = postgres) =>
  new QueuedLimiter(new SharedRates(profile, pgRates(over, team), key));
const inFile = (team: string, profile: RateProfile = flatProfile(20), key = 'key') =>
  new QueuedLimiter(
    new SharedRates(profile, fileRates(join(dir, `${team}.json`), join(dir, `${team}.block.json`)), key),
  );

for (const [name, open] of [
  ['PostgreSQL', onPostgres],
  ['a file', inFile],
] as const)
  limiterContract(name, async () => open(randomUUID()));

// These tests mostly wait, so they run in parallel.
describe.concurrent.each([
  ['PostgreSQL', onPostgres],
  ['a file', inFile],
])('the limiter on %s', (_, limiterOf) => {
  it('is one for all processes of a team: together they never exceed the limit, and each gets its share', async () => {
    const team = randomUUID();
    const processes = await Promise.all([1, 2, 3].map(async () => ({ limiter: limiterOf(team, flatProfile(20)) })));
    const starts: { at: number; weight: number; by: number }[] = [];
    await Promise.all(
      processes.flatMap(({ limiter }, by) =>
        Array.from({ length: 16 }, async (_, index) => {
          const weight = index % 5 === 4 ? 2 : 1;
          starts.push({ at: await pass(limiter, { ...one, weight }), weight, by });
        }),
      ),
    );
    expect(mostInASecond(starts)).toBeLessThanOrEqual(20);
    // Of an unused limit the first process takes the starts of 250 ms before the others have asked.
    const middle = starts.toSorted((a, b) => a.at - b.at).slice(12, 36);
    for (const by of [0, 1, 2]) expect(middle.filter((start) => start.by === by).length).toBeGreaterThanOrEqual(5);
    for (const { limiter } of processes) await limiter.close();
  });

  it('shows a block of one process to all others at once', async () => {
    const team = randomUUID();
    const two = flatProfile(2);
    const [first, other] = [limiterOf(team, two), limiterOf(team, two)];
    await Promise.all([pass(first), pass(other)]);
    const granted = await other.acquire(one);
    await first.block(600, 'Retry-After: 0.6');
    const until = performance.now() + 600;
    expect(await other.start(granted)).toBe('blocked');
    expect((await other.view()).blockReason).toBe('Retry-After: 0.6');
    const starts = await Promise.all([first, other].map((limiter) => pass(limiter)));
    for (const at of starts) expect(at).toBeGreaterThanOrEqual(until - 20);
    await Promise.all([first.close(), other.close()]);
  });

  it('lifts a block for all processes, and only for those of the team', async () => {
    const team = randomUUID();
    const [first, second, stranger] = [limiterOf(team), limiterOf(team), limiterOf(randomUUID())];
    for (const one of [first, stranger]) await one.block(3_600_000, 'an hour');
    const waiting = pass(first);
    expect((await second.view()).blockReason).toBe('an hour');
    await second.unblock();
    await waiting;
    expect(await first.view()).toMatchObject({ blockedUntil: null });
    expect(await stranger.view()).toMatchObject({ blockReason: 'an hour' });
    await Promise.all([first.close(), second.close(), stranger.close()]);
  });

  it('keeps its block and its rings for later processes', async () => {
    const team = randomUUID();
    const first = limiterOf(team, flatProfile(2));
    await Promise.all([pass(first), pass(first)]);
    const lastStart = performance.now();
    await first.close();
    const second = limiterOf(team, flatProfile(2));
    expect((await second.view()).buckets).toMatchObject([{ name: 'all', qps: 2, used: 2 }]);
    await Promise.all([pass(second), pass(second)]);
    expect(performance.now() - lastStart).toBeGreaterThanOrEqual(990);
    await second.block(60_000, 'a minute');
    await second.close();
    const third = limiterOf(team, flatProfile(2));
    expect((await third.view()).blockReason).toBe('a minute');
    await third.close();
  });

  it('wastes only the turns that were granted to a process that died', async () => {
    const team = randomUUID();
    const dead = limiterOf(team);
    const waiting = Array.from({ length: 40 }, () => dead.acquire(one).catch(() => null));
    await waiting[0];
    await dead.close();
    // Starts are granted 250 ms in advance; at 20 a second the gap between two starts is 30 ms.
    expect((await Promise.all(waiting)).filter((grant) => grant !== null).length).toBeLessThanOrEqual(9);
    const successor = limiterOf(team);
    const starts = await Promise.all(Array.from({ length: 20 }, () => pass(successor)));
    expect(mostInASecond(starts.map((at) => ({ at, weight: 1 })))).toBeGreaterThanOrEqual(11);
    expect((await successor.view()).waiting).toBe(0);
    await successor.close();
  });

  it('keeps a key with a lower limit of its own within the team, and leaves the rest to the other keys', async () => {
    const team = randomUUID();
    const slow = limiterOf(team, withKeyLimit(flatProfile(20), 2), 'slow');
    const fast = limiterOf(team, flatProfile(20), 'fast');
    const starts: { at: number; weight: number; by: string }[] = [];
    const go = async (limiter: QueuedLimiter, by: string) => starts.push({ at: await pass(limiter), weight: 1, by });
    await Promise.all([
      ...Array.from({ length: 3 }, () => go(slow, 'slow')),
      ...Array.from({ length: 27 }, () => go(fast, 'fast')),
    ]);
    expect(mostInASecond(starts)).toBeLessThanOrEqual(20);
    expect(mostInASecond(starts.filter(({ by }) => by === 'slow'))).toBeLessThanOrEqual(2);
    expect((await slow.view()).buckets.map(({ name, qps }) => [name, qps])).toEqual([
      ['all', 20],
      ['key', 2],
    ]);
    await Promise.all([slow.close(), fast.close()]);
  });

  it('limits deep searches by their own rate and by that of all searches', async () => {
    const limiter = limiterOf(randomUUID(), rateProfiles.public);
    const starts: { at: number; weight: number; deep: boolean }[] = [];
    const go = async (rateClass: string) =>
      starts.push({ at: await pass(limiter, { rateClass, weight: 1 }), weight: 1, deep: rateClass === 'search.deep' });
    await Promise.all([
      ...Array.from({ length: 7 }, () => go('search.deep')),
      ...Array.from({ length: 11 }, () => go('search')),
    ]);
    expect(mostInASecond(starts)).toBeLessThanOrEqual(10);
    expect(mostInASecond(starts.filter(({ deep }) => deep))).toBeLessThanOrEqual(5);
    await limiter.close();
  });

  it('slows down while the service queues its calls, and tells all processes', async ({ expect }) => {
    const team = randomUUID();
    const [first, other] = [limiterOf(team), limiterOf(team)];
    await pass(first);
    expect((await other.view()).effectiveQps).toBeGreaterThan(19);
    for (let answer = 0; answer < 500; answer++) first.queued(one);
    await pass(first);
    await expect.poll(async () => (await other.view()).effectiveQps).toBeLessThan(17);
    expect(await other.view()).toMatchObject({ qps: 20 });
    expect((await other.view()).effectiveQps).toBeGreaterThanOrEqual(15.5);
    await Promise.all([first.close(), other.close()]);
  });

  it('shows the waiting calls of every process', async ({ expect }) => {
    const team = randomUUID();
    const [busy, looker] = [limiterOf(team), limiterOf(team)];
    await busy.block(5000, 'a block');
    const waiting = Array.from({ length: 3 }, () => pass(busy).catch(() => undefined));
    expect(await busy.view()).toMatchObject({ waiting: 3 });
    await expect.poll(() => looker.view()).toMatchObject({ waiting: 3, blockReason: 'a block' });
    await Promise.all([busy.close(), looker.close()]);
    await Promise.all(waiting);
  });
});

describe.concurrent('the limiter on PostgreSQL alone', () => {
  it('sees a block although the notification is lost', async () => {
    const team = randomUUID();
    const deaf: Postgres = { ...postgres, listen: async () => async () => undefined };
    const [first, other] = [onPostgres(team, flatProfile(2)), onPostgres(team, flatProfile(2), 'key', deaf)];
    await Promise.all([pass(first), pass(other)]);
    const granted = await other.acquire(one);
    await first.block(2000, 'a block');
    expect(await other.start(granted)).toBe('blocked');
    await Promise.all([first.close(), other.close()]);
  });

  it('makes calls wait while the database is down, and lets none pass', async () => {
    const team = randomUUID();
    let away = false;
    const flaky: Postgres = {
      ...postgres,
      query: async <R>(text: string, values?: readonly unknown[], limits?: PgLimits) => {
        while (away) await delay(20, undefined, limits);
        return postgres.query<R>(text, values, limits);
      },
    };
    const limiter = onPostgres(team, flatProfile(20), 'key', flaky);
    await pass(limiter);
    away = true;
    const passed: number[] = [];
    const waiting = [one, { ...one, weight: 0 }].map((rateCost) =>
      pass(limiter, rateCost).then((at) => passed.push(at)),
    );
    // A poll waits a second for the database; then `view` returns the last known state.
    expect(await limiter.view()).toMatchObject({ profile: 'flat-20', blockedUntil: null, waiting: 2 });
    expect(passed).toEqual([]);
    away = false;
    await Promise.all(waiting);
    await limiter.close();
  });

  it('restarts with a full ring if the database lost its rings', async () => {
    const team = randomUUID();
    const limiter = onPostgres(team);
    await pass(limiter);
    await postgres.query(`DELETE FROM ${identifier(postgres.address.schema)}.limiter_buckets WHERE team = $1`, [team]);
    const lost = performance.now();
    expect((await pass(limiter)) - lost).toBeGreaterThanOrEqual(1000);
    await limiter.close();
  });
});

describe.concurrent('the limiter in a file alone', () => {
  it.each([
    ['a damaged file', () => '{"all":'],
    ['a file of before the last start of the machine', (state: string) => state.replace(/\d{4,}(\.\d+)?/g, '9e12')],
  ])('counts the last second as used after %s', async (_, damage) => {
    const team = randomUUID();
    const path = join(dir, `${team}.json`);
    const first = inFile(team);
    expect((await first.view()).buckets).toMatchObject([{ used: 0 }]);
    await pass(first);
    writeFileSync(path, damage(readFileSync(path, 'utf8')));
    const damaged = performance.now();
    expect((await pass(first)) - damaged).toBeGreaterThanOrEqual(900);
    await first.close();
  });
});
