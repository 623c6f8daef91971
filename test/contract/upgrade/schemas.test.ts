import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openStore } from '../../../src/store/postgres/open-store.js';
import { createWarehouses } from '../../../src/warehouse/index.js';
import { sharedPostgres } from '../../support/postgres.js';
import { RecordedFolder, restore, storesOf } from '../../support/upgrade/recorded.js';
import { pgQuery } from '../../support/warehouse/pg-query.js';
import { readDuckDb } from '../../support/warehouse/read-duckdb.js';

const noJob = { job: 'a-1', name: 'a', origin: 'sandbox', operation: 'contents', input: '-', columns: ['url'] };
const opened = { ...noJob, generation: '1', options: {}, rows: 0, slices: 0 };

/** Opens a warehouse for a job without rows, so that the warehouse has the newest schema. */
async function open(address: string): Promise<void> {
  const warehouses = createWarehouses();
  await warehouses.open(address).rows.openJob(opened, []);
  await warehouses.close();
}

async function duckDbCatalog(file: string) {
  const read = (sql: string) => readDuckDb(file, sql);
  return {
    relations: await read(
      `SELECT table_name, comment FROM duckdb_tables() UNION ALL SELECT view_name, comment FROM duckdb_views() WHERE NOT internal ORDER BY 1`,
    ),
    columns: await read(
      `SELECT table_name, column_name, data_type, is_nullable, column_default, comment FROM duckdb_columns()
       WHERE NOT internal ORDER BY table_name, column_name`,
    ),
    keys: await read(
      'SELECT table_name, constraint_type, constraint_column_names FROM duckdb_constraints() ORDER BY ALL',
    ),
    sequences: await read('SELECT sequence_name FROM duckdb_sequences() ORDER BY 1'),
  };
}

async function postgresCatalog(url: string, schema: string) {
  const read = async (sql: string) => JSON.parse(JSON.stringify(await pgQuery(`${url}?schema=${schema}`, sql)));
  const ours = `n.nspname = '${schema}'`;
  return {
    columns: await read(
      `SELECT c.relname, c.relkind, obj_description(c.oid, 'pg_class'), a.attname, format_type(a.atttypid, a.atttypmod),
         a.attnotnull, a.attidentity, pg_get_expr(d.adbin, d.adrelid), col_description(c.oid, a.attnum)
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
       LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum WHERE ${ours} ORDER BY 1, 4`,
    ),
    keys: await read(
      `SELECT c.relname, o.contype, pg_get_constraintdef(o.oid)
       FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${ours} ORDER BY 1, 3`,
    ),
    indexes: await read(
      `SELECT pg_get_indexdef(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'i' AND ${ours} ORDER BY 1`,
    ),
    functions: await read(
      `SELECT p.proname, pg_get_function_arguments(p.oid), p.proconfig, p.prosrc FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
       WHERE ${ours} ORDER BY 1, 2`,
    ),
  };
}

/** Leaves out the views of the recorded jobs: names that a new schema does not have. */
function likeNew<Catalog extends Record<string, readonly unknown[]>>(catalog: Catalog, fresh: Catalog): Catalog {
  const nameOf = (line: unknown) => String(Object.values(line as object)[0]);
  const kept = Object.entries(catalog).map(([part, lines]) => {
    const names = new Set(fresh[part]?.map(nameOf));
    return [part, lines.filter((line) => names.has(nameOf(line)))];
  });
  return Object.fromEntries(kept) as Catalog;
}

it.each(storesOf('duckdb'))('the DuckDB file of %s has the schema of a new file once it is opened', async (store) => {
  const folder = new RecordedFolder(store);
  const [recorded, fresh] = [join(folder.dir, 'out', 'warehouse.duckdb'), join(folder.dir, 'fresh.duckdb')];
  for (const file of [recorded, fresh]) await open(file);
  const expected = await duckDbCatalog(fresh);
  expect(expected.columns.length).toBeGreaterThan(300);
  expect(likeNew(await duckDbCatalog(recorded), expected)).toEqual(expected);
});

it.each(storesOf('postgres'))('the schemas of %s equal new schemas once they are opened', async (store) => {
  const folder = new RecordedFolder(store);
  const recorded = await restore(folder);
  const [freshStore, freshWarehouse] = await Promise.all([
    sharedPostgres().database('store'),
    sharedPostgres().database('warehouse'),
  ]);
  for (const url of [recorded.warehouse, freshWarehouse]) await open(url);
  const warehouse = await postgresCatalog(freshWarehouse, 'searchflow');
  expect(warehouse.columns.length).toBeGreaterThan(300);
  expect(likeNew(await postgresCatalog(recorded.warehouse, 'searchflow'), warehouse)).toEqual(warehouse);

  for (const url of [recorded.store, freshStore])
    await (await openStore(url, { applicationName: 'test', patienceMs: 5000, max: 1 })).close();
  const inStore = await postgresCatalog(freshStore, 'searchflow_store');
  expect(inStore.functions.length).toBeGreaterThan(10);
  expect(likeNew(await postgresCatalog(recorded.store, 'searchflow_store'), inStore)).toEqual(inStore);
});
