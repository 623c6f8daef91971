import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBConnection } from '@duckdb/node-api';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { startWalk } from '../../../src/core/events/walk.js';
import { createDuckDbEvents } from '../../../src/warehouse/duckdb/events/duckdb-events.js';
import { eventContract } from '../../support/events/event-contract.js';
import { duckDbEvents, queryDuckDb } from '../../support/events/event-databases.js';
import { event, noon, pagesOf, sync } from '../../support/events/made-events.js';

const dir = mkdtempSync(join(tmpdir(), 'searchflow-events-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('events in DuckDB', () => eventContract(duckDbEvents(dir)));

it('the event warehouse continues with a file of a version that did not separate state from loads', async () => {
  const file = join(dir, 'older.duckdb');
  const events = createDuckDbEvents({ file });
  await events.begin(sync, { from: null, to: noon(10), types: [], sweep: false });
  await events.claim(sync, 1, 'one');
  const load = (page: number) =>
    events.load([
      {
        ...{ ...sync, window: 1, attempt: 'one', walk: startWalk('next') },
        pages: pagesOf([event('webset.idle', page, { id: `w${page}` })], 200, page),
      },
    ]);
  await load(1);
  await events.foldAll(sync.origin);
  await events.close();
  for (const column of ['bytes', 'in_state']) await queryDuckDb(file, `ALTER TABLE event_loads DROP COLUMN ${column}`);
  await queryDuckDb(file, `DELETE FROM searchflow_migrations WHERE name = '0060-state-marks'`);
  await load(2);
  await events.foldAll(sync.origin);
  await events.close();
  expect(await queryDuckDb(file, 'SELECT id FROM websets ORDER BY id')).toEqual([{ id: 'w1' }, { id: 'w2' }]);
  expect(await queryDuckDb(file, 'SELECT in_state FROM event_loads ORDER BY load_id')).toEqual([
    { in_state: null },
    { in_state: 1 },
  ]);
});

it('the event warehouse makes no second load of a few events that are already loaded', async () => {
  const events = createDuckDbEvents({ file: join(dir, 'again.duckdb') });
  await events.begin(sync, { from: null, to: noon(1000), types: [], sweep: false });
  await events.claim(sync, 1, 'one');
  const said = vi.spyOn(DuckDBConnection.prototype, 'prepare');
  const all = Array.from({ length: 200 }, (_, index) => event('webset.idle', index, { id: `w${index}` }));
  const load = (page: number, some: readonly object[]) =>
    events.load([
      { ...{ ...sync, window: 1, attempt: 'one', walk: startWalk('next') }, pages: pagesOf(some, 200, page) },
    ]);
  const turns = () => said.mock.calls.splice(0).filter(([sql]) => /^INSERT INTO events /.test(sql)).length;
  await load(1, all.slice(0, 100));
  expect(turns()).toBe(1);
  expect(await load(2, all.slice(98, 150))).toMatchObject([{ events: 52, added: 50 }]);
  expect(turns()).toBe(1);
  // This event is in the warehouse with other contents.
  const other = { ...all[149], data: { id: 'w149', title: 'other' } };
  expect(await load(3, [other, ...all.slice(150)])).toMatchObject([{ events: 51, added: 50 }]);
  expect(turns()).toBeGreaterThan(1);
  said.mockRestore();
  await events.close();
});
