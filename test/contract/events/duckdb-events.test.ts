import { join } from 'node:path';
import { DuckDBConnection } from '@duckdb/node-api';
import { describe, expect, it, vi } from 'vitest';
import { startWalk } from '../../../src/core/events/walk.js';
import { openWarehouse } from '../../../src/warehouse/index.js';
import { eventContract } from '../../suites/event-contract.js';
import { event, noon, pagesOf, sync } from '../../suites/made-events.js';
import { folderOfFile } from '../../support/files/folders.js';
import { duckDbUnderTest } from '../../support/warehouse/warehouses-under-test.js';

const dir = folderOfFile();

describe('events in DuckDB', () => eventContract(duckDbUnderTest));

it('the event warehouse makes no second load of a few events that are already loaded', async () => {
  const events = openWarehouse(join(dir, 'again.duckdb')).events;
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
