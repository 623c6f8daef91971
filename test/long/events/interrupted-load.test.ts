import { join } from 'node:path';
import { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { EventWarehouse, StreamRun, WindowPages } from '../../../src/core/events/event-warehouse.js';
import { partTables, stateTables } from '../../../src/core/events/state-tables.js';
import { startWalk } from '../../../src/core/events/walk.js';
import { Warehouse } from '../../../src/warehouse/duckdb/warehouse.js';
import { openWarehouse } from '../../../src/warehouse/index.js';
import { event, history, iso, type MadeEvent, noon, pagesOf, sync } from '../../suites/made-events.js';
import { failureOf } from '../../support/failure-of.js';
import { folderOfFile } from '../../support/files/folders.js';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.mjs';

/** A warehouse under test, and its contents. */
interface Interrupted {
  readonly events: EventWarehouse;
  query(sql: string): Promise<readonly object[]>;
  /** SQL that makes a number of the contents of a row `r`. */
  readonly hash: string;
}

/** `after`: number of statements that succeed; each later statement fails. `done`: statements so far. */
const cut = { after: Number.POSITIVE_INFINITY, done: 0 };
function interrupt(): void {
  if (++cut.done > cut.after) throw new Error('interrupted');
}

/** Counts each use of a method of the database's client as a statement, and fails it if the database is gone. */
function cutBefore(owner: object, name: string): void {
  const methods = owner as Record<string, (...given: unknown[]) => Promise<unknown>>;
  const real = methods[name] as (typeof methods)[string];
  vi.spyOn(methods, name).mockImplementation(async function (this: unknown, ...given: unknown[]) {
    interrupt();
    return real.apply(this, given);
  });
}

/** Tests with every statement take a minute or two. Each database tests every fifth statement, beginning at a different one. */
const STRIDE = process.env.EVERY_STATEMENT ? 1 : 5;

const run: StreamRun = { from: null, to: noon(10_000), types: [], sweep: false };
const titled = (id: string, seconds: number) => ({
  ...event('webset.idle', 1, { id, title: `at ${seconds}`, updatedAt: iso(seconds) }),
  id: `event_${id}`,
});

/**
 * Runs loads of these pages and a fold. Each is cut off after one of its statements, for each statement in turn, and then runs undisturbed.
 */
async function interruptEach(
  { events, query, hash }: Interrupted,
  lives: readonly MadeEvent[],
  first: number,
): Promise<{ mixed: number; foldAll: number }> {
  await events.begin(sync, run);
  await events.claim(sync, 1, 'one');
  await events.split(sync, 1, 'one', [
    { from: null, to: noon(10) },
    { from: noon(10), to: noon(10_000) },
  ]);
  for (const window of [2, 3]) await events.claim(sync, window, 'one');
  const load = (window: number, all: readonly object[], done: boolean, page = 1): WindowPages => ({
    ...{ ...sync, window, attempt: 'one', pages: pagesOf(all, 100, page) },
    walk: { ...startWalk(done ? null : 'next'), done },
  });
  const tables = ['events', 'event_loads', 'event_windows', 'event_streams', ...stateTables, ...partTables];
  const sums = tables.map((table) => {
    const name = typeof table === 'string' ? table : table.name;
    return `SELECT '${name}' AS name, CAST(count(*) AS integer) AS rows, CAST(sum(${hash}) AS text) AS sum FROM ${name} r`;
  });
  const contents = () => query(`${sums.join(' UNION ALL ')} ORDER BY name`);
  /** Returns the number of statements of `work`. `done`: whether all of the work is in the database, as after a cut behind the COMMIT. */
  const cutOff = async (work: () => Promise<unknown>, done: () => Promise<boolean>) => {
    const before = await contents();
    for (let after = first; ; after += STRIDE) {
      Object.assign(cut, { after, done: 0 });
      const failure = await failureOf(work());
      cut.after = Number.POSITIVE_INFINITY;
      if (failure === null) {
        expect(await done()).toBe(true);
        return after;
      }
      expect(String(failure)).toContain('interrupted');
      if (!(await done())) expect(await contents(), `cut off after ${after} statements`).toEqual(before);
    }
  };
  const [early, later, last] = [lives.slice(0, 80), lives.slice(80, 140), lives.slice(140)];
  await events.load([load(2, [titled('x', 1), ...early], false)]);
  // Window 2 ends, with newer contents of webset `x` and with events that are already loaded. Window 3 gets new events.
  const mixed = [load(2, [titled('x', 2), ...early.slice(40)], true, 3), load(3, later, false)];
  const pending = async () => (await events.stream(sync))?.pending.length;
  const mixedLoad = await cutOff(
    () => events.load(mixed),
    async () => (await pending()) === 1,
  );
  expect(await query(`SELECT title FROM websets WHERE id = 'x'`)).toEqual([{ title: 'at 2' }]);
  // The first event is already loaded, with the same contents.
  await cutOff(
    () => events.load([load(3, [...later.slice(-1), ...last], true, 2)]),
    async () => (await pending()) === 0,
  );
  expect(await events.stream(sync)).toMatchObject({ pending: [], events: 1 + 80 + 41 + 1 + lives.length - 80 });
  const waiting = 'SELECT CAST(count(*) AS integer) AS loads FROM event_loads WHERE in_state = 0';
  expect(await query(waiting)).toEqual([{ loads: 1 }]);
  const foldAll = await cutOff(
    () => events.foldAll(sync.origin),
    async () => (await query(waiting)).every((row) => 'loads' in row && row.loads === 0),
  );
  return { mixed: mixedLoad, foldAll };
}

describe('a load or a fold that is cut off at any statement leaves nothing, and completes when repeated', () => {
  let lives: MadeEvent[];
  let server: PostgresServer;
  const dir = folderOfFile();
  beforeAll(async () => {
    [lives, server] = [history(200), await startPostgres()];
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await server.stop();
  });

  it('in DuckDB', async () => {
    for (const name of ['run', 'runAndReadAll', 'prepare']) cutBefore(DuckDBConnection.prototype, name);
    for (const name of ['run', 'runAndReadAll']) cutBefore(DuckDBPreparedStatement.prototype, name);
    const file = join(dir, 'out.duckdb');
    const events = openWarehouse(file).events;
    const reader = Warehouse.at(file);
    const query = (sql: string) =>
      reader.use(async (connection) => (await connection.runAndReadAll(sql)).getRowObjectsJS());
    const took = await interruptEach({ events, query, hash: 'CAST(hash(r) AS HUGEINT)' }, lives, 0);
    expect(Math.min(took.mixed, took.foldAll)).toBeGreaterThan(40);
    await Promise.all([events.close(), reader.close()]);
  });

  it('in PostgreSQL', async () => {
    const url = await server.database();
    const client = new pg.Client(url);
    await client.connect();
    const real = pg.Client.prototype.query as (...given: unknown[]) => never;
    const events = openWarehouse(url).events;
    await events.begin({ ...sync, stream: 'another' }, run);
    await client.query('SET search_path = searchflow');
    vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: unknown, ...given: unknown[]) {
      if (this !== client) {
        try {
          interrupt();
        } catch (error) {
          // The client returns a promise for a statement as text, and a stream for COPY.
          if (typeof given[0] === 'string') return Promise.reject(error) as never;
          throw error;
        }
      }
      return real.apply(this, given);
    });
    const query = async (sql: string) => (await client.query(sql)).rows as object[];
    const took = await interruptEach({ events, query, hash: 'hashtextextended(CAST(r AS text), 0)' }, lives, 1);
    expect(Math.min(took.mixed, took.foldAll)).toBeGreaterThan(40);
    await events.close();
    await client.end();
  });
});
