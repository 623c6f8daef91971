import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startWalk } from '../../../src/core/events/walk.js';
import { openWarehouse } from '../../../src/warehouse/index.js';
import { history, noon, pagesOf, sync } from '../../suites/made-events.js';
import { folderOfFile } from '../../support/files/folders.js';
import { sharedPostgres } from '../../support/postgres.js';
import { manifestIn, publishedRows } from '../../support/publish/read-target.js';
import { placeEmptyWarehouse } from '../../support/warehouse/empty-warehouse.js';

const dir = folderOfFile();

const whole = { mode: 'replace', key: [], partition: null } as const;
const tablesIn = (to: string) => manifestIn(to)?.tables.map(({ name, columns, rows }) => ({ name, columns, rows }));

it('the current state of events and the monitors are published alike from DuckDB and PostgreSQL', async () => {
  const events = history(300);
  const addresses = [placeEmptyWarehouse(join(dir, 'w.duckdb')), await sharedPostgres().database()];
  const folders: string[] = [];
  for (const [index, address] of addresses.entries()) {
    const warehouse = openWarehouse(address);
    await warehouse.events.begin(sync, { from: null, to: noon(10_000_000), types: [], sweep: false });
    await warehouse.events.claim(sync, 1, 'one');
    const walk = { ...startWalk(null), done: true };
    await warehouse.events.load([{ ...sync, window: 1, attempt: 'one', pages: pagesOf(events), walk }]);
    await warehouse.events.foldAll('sandbox');
    const at = '2026-11-20T10:00:00.123Z';
    const { runs } = warehouse.monitors;
    await runs.loadMonitors('sandbox', 'mark', [{ id: 'm1', name: 'One "news"\n', status: 'active', createdAt: at }]);
    await runs.loadRuns('sandbox', 'mark', 'm1', [
      {
        id: 'r1',
        status: 'completed',
        createdAt: at,
        output: { results: [{ url: 'https://a.example/', title: 'Ä' }] },
      },
    ]);
    const to = join(dir, `target-${index}`);
    folders.push(to);
    const { tables } = await warehouse.publisher.publish({ ...whole, subject: 'events', to });
    expect(tables.find(({ name }) => name === 'webset_items')?.rows).toBeGreaterThan(10);
    await warehouse.publisher.publish({ ...whole, subject: 'monitors', to });
    await warehouse.close();
  }
  const [duckDb = '', postgres = ''] = folders;
  // Both publishes share one manifest.
  expect(tablesIn(duckDb)?.map(({ name }) => name)).toEqual(expect.arrayContaining(['websets', 'monitor_run_results']));
  expect(tablesIn(postgres)).toEqual(tablesIn(duckDb));
  for (const { name, columns = [] } of tablesIn(duckDb) ?? []) {
    const json = ['data', 'trigger', 'metadata'];
    const plain = columns
      .map((column) => column.name)
      .filter((column) => column !== 'loaded_at' && column !== 'seen_at');
    const shown = plain.map((column) =>
      json.includes(column) ? `json_extract_string(${column}, '$.id') AS ${column}` : column,
    );
    const rows = async (to: string) => {
      const found = await publishedRows(to, name, shown.join(', '));
      return found?.map((row) => JSON.stringify(row)).sort();
    };
    expect([name, await rows(postgres)]).toEqual([name, await rows(duckDb)]);
  }
  expect(await publishedRows(postgres, 'monitors', 'name, created_at')).toEqual([
    { name: 'One "news"\n', created_at: '2026-11-20 10:00:00.123' },
  ]);
});
