import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { EventWarehouse, StreamKey } from '../../../src/core/events/event-warehouse.js';
import { startWalk } from '../../../src/core/events/walk.js';
import { openWarehouse } from '../../../src/warehouse/index.js';
import { event, type MadeEvent, noon, pagesOf, sync } from '../../suites/made-events.js';
import { folderOfFile } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';

const dir = folderOfFile();
const server = sharedPostgres();
let database: string;
beforeAll(async () => {
  database = await server.database();
});

const key: StreamKey = { origin: 'sandbox', stream: 'verify 2025-01-01T12:00:00.000Z..2025-01-03T00:00:00.000Z' };
const span = { from: noon(0), to: noon(129_600), types: [] as readonly string[], sweep: false };

interface Opened {
  readonly events: EventWarehouse;
  /** Runs a statement; no other process may use the warehouse meanwhile. */
  run(sql: string): Promise<Record<string, unknown>[]>;
}

async function openDuckDb(): Promise<Opened> {
  const file = join(mkdtempSync(join(dir, 'file-')), 'events.duckdb');
  const { events } = openWarehouse(file);
  const run = async (sql: string) => {
    await events.close();
    return runInDuckDb(file, sql);
  };
  return { events, run };
}

let schemas = 0;
async function openPostgres(): Promise<Opened> {
  const schema = `verify_${++schemas}`;
  const client = new pg.Client(database);
  await client.connect();
  onTestFinished(() => client.end());
  const run = async (sql: string) => {
    await client.query(`SET search_path = '${schema}'`);
    return (await client.query(sql)).rows as Record<string, unknown>[];
  };
  return { events: openWarehouse(`${database}?schema=${schema}`).events, run };
}

describe.each([
  ['DuckDB', openDuckDb],
  ['PostgreSQL', openPostgres],
] as const)('a verification in %s', (_, open) => {
  let here: Opened;
  const load = async (of: StreamKey, window: number, events: readonly object[], attempt = 'one', first = 1) => {
    const walk = { ...startWalk(), done: true };
    await here.events.load([{ ...of, window, attempt, pages: pagesOf(events, 3, first), walk }]);
  };
  /**
   * Loads `before` by a sync and changes the warehouse with the statements of `tamper`. Then a verification reads `shown`, the events that
   * the service returns now.
   */
  const verified = async (before: readonly MadeEvent[], tamper: readonly string[], shown: readonly MadeEvent[]) => {
    here = await open();
    onTestFinished(() => here.events.close());
    await here.events.begin(sync, { ...span, from: null });
    await here.events.claim(sync, 1, 'one');
    await load(sync, 1, before);
    for (const sql of tamper) await here.run(sql);
    const [window] = (await here.events.begin(key, span)).pending;
    await here.events.claim(key, window ?? 0, 'one');
    await load(key, window ?? 0, shown);
    return here.events.verified(key);
  };
  const made = Array.from({ length: 8 }, (_, index) =>
    event('webset.idle', index * 14_400, { id: `w${index}`, object: 'webset', title: `t${index}` }),
  );
  const ids = (indices: readonly number[]) => indices.map((index) => `'${made[index]?.id}'`).join(', ');

  it('reports nothing if nothing differs, and keeps no record of it', async () => {
    expect(await verified(made, [], made)).toEqual({ missing: 0, changed: 0, gone: 0, days: [] });
    expect(await here.run('SELECT id FROM event_checks')).toEqual([]);
  });

  it('repairs deleted and changed events, keeps those that the service no longer returns, and reports by day and id', async () => {
    const tamper = [
      `DELETE FROM events WHERE id IN (${ids([0, 1])})`,
      `UPDATE events SET data = '{}' WHERE id IN (${ids([6])})`,
    ];
    const found = await verified(made, tamper, made.slice(0, 7));
    expect(found).toEqual({
      ...{ missing: 2, changed: 1, gone: 1 },
      days: [
        { day: '2025-01-01', missing: 2, changed: 0, gone: 0 },
        { day: '2025-01-02', missing: 0, changed: 1, gone: 1 },
      ],
    });
    const rows = await here.run(`SELECT c.id, c.outcome, CAST(e.data AS TEXT) AS data FROM event_checks c
      JOIN events e ON e.origin = c.origin AND e.id = c.id ORDER BY e.created_at`);
    expect(rows.map(({ id, outcome }) => [id, outcome])).toEqual([
      [made[0]?.id, 'missing'],
      [made[1]?.id, 'missing'],
      [made[6]?.id, 'changed'],
      [made[7]?.id, 'gone'],
    ]);
    expect(rows.map(({ data }) => JSON.parse(String(data)))).toEqual([0, 1, 6, 7].map((index) => made[index]?.data));
    // A second call has the same result, as after a lost answer.
    expect(await here.events.verified(key)).toEqual(found);
  });

  it('trusts the service, even if the contents in the warehouse claim to be newer', async () => {
    const odd = `UPDATE events SET data = '{"id":"w3","updatedAt":"2030-01-01T00:00:00Z"}' WHERE id IN (${ids([3])})`;
    expect(await verified(made, [odd], made)).toMatchObject({ missing: 0, changed: 1, gone: 0 });
    const [row] = await here.run(`SELECT CAST(data AS TEXT) AS data FROM events WHERE id IN (${ids([3])})`);
    expect(JSON.parse(String(row?.data))).toEqual(made[3]?.data);
  });

  it('counts each event once, by its first result, although its page is read again', async () => {
    here = await open();
    onTestFinished(() => here.events.close());
    await here.events.begin(key, span);
    await here.events.claim(key, 1, 'one');
    const walk = startWalk('next');
    await here.events.load([{ ...key, window: 1, attempt: 'one', pages: pagesOf(made), walk }]);
    await here.events.claim(key, 1, 'two');
    await load(key, 1, [...made, ...made], 'two');
    expect(await here.events.verified(key)).toMatchObject({ missing: 8, changed: 0, gone: 0 });
  });

  it('does not report as gone the events that came since its start or lie outside its range', async () => {
    here = await open();
    onTestFinished(() => here.events.close());
    await here.events.begin(sync, { ...span, from: null });
    await here.events.claim(sync, 1, 'one');
    const outside = [event('webset.idle', -1, { id: 'w' }), event('webset.idle', 129_601, { id: 'w' })];
    await load(sync, 1, outside);
    await here.events.begin(key, span);
    await here.events.claim(key, 1, 'one');
    const late = event('webset.idle', 5, { id: 'w' });
    await here.events.begin(sync, { ...span, from: null });
    await here.events.claim(sync, 2, 'one');
    await load(sync, 2, [late]);
    await load(key, 1, []);
    expect(await here.events.verified(key)).toEqual({ missing: 0, changed: 0, gone: 0, days: [] });
  });

  it('starts from zero at each run, and checks only its own types', async () => {
    const of = { origin: 'sandbox', stream: `${key.stream} webset.idle` };
    here = await open();
    onTestFinished(() => here.events.close());
    await here.events.begin(sync, { ...span, from: null });
    await here.events.claim(sync, 1, 'one');
    await load(sync, 1, [...made, event('webset.paused', 7, { id: 'w9', object: 'webset' })]);
    for (const [window, shown, gone] of [
      [1, made.slice(1), 1],
      [2, made, 0],
    ] as const) {
      await here.events.begin(of, { ...span, types: ['webset.idle'] });
      await here.events.claim(of, window, 'one');
      await load(of, window, shown);
      expect(await here.events.verified(of)).toMatchObject({ missing: 0, changed: 0, gone });
    }
    expect((await here.events.streams('sandbox')).map(({ stream, types }) => [stream, types])).toEqual([
      ['sync', []],
      [of.stream, ['webset.idle']],
    ]);
  });
});
