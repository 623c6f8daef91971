import { DuckDBInstance } from '@duckdb/node-api';
import { expect, it } from 'vitest';
import { migrate } from '../../../src/warehouse/duckdb/open/migrate.js';
import { newSchema as newFile } from '../../../src/warehouse/duckdb/open/new-schema.js';
import { createPostgresRows } from '../../../src/warehouse/index.js';
import { newSchema } from '../../../src/warehouse/postgres/open/new-schema.js';
import { sharedPostgres } from '../../support/postgres.js';
import { pgQuery } from '../../support/warehouse/pg-query.js';

it('a DuckDB file made from the descriptions of its tables equals a migrated file', async () => {
  const catalogs = [];
  for (const make of ['migrations', 'descriptions']) {
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    if (make === 'migrations') await migrate(connection, ':memory:');
    else await connection.run(newFile());
    const read = async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJson();
    catalogs.push({
      relations: await read(
        `SELECT table_name, comment FROM duckdb_tables() WHERE table_name <> 'searchflow_migrations'
         UNION ALL SELECT view_name, comment FROM duckdb_views() WHERE NOT internal ORDER BY 1`,
      ),
      columns: await read(
        `SELECT table_name, column_index, column_name, data_type, is_nullable, column_default, comment FROM duckdb_columns()
         WHERE NOT internal AND table_name <> 'searchflow_migrations' ORDER BY 1, 2`,
      ),
      keys: await read(
        `SELECT table_name, constraint_type, constraint_column_names FROM duckdb_constraints()
         WHERE table_name <> 'searchflow_migrations' ORDER BY ALL`,
      ),
      sequences: await read('SELECT sequence_name FROM duckdb_sequences()'),
    });
    connection.closeSync();
    instance.closeSync();
  }
  expect(catalogs[0]?.columns.length).toBeGreaterThan(300);
  expect(catalogs[1]).toEqual(catalogs[0]);
});

it('a PostgreSQL schema made from the descriptions of its tables equals a migrated schema', async () => {
  const database = await sharedPostgres().database('schemas');
  const rows = createPostgresRows({ url: `${database}?schema=schema_one` });
  const job = { job: 'a-1', name: 'a', origin: 'sandbox', operation: 'contents', input: '-', columns: ['url'] };
  await rows.openJob({ ...job, generation: '1', options: {}, rows: 0, slices: 0 }, []);
  await rows.close();
  await pgQuery(database, `CREATE SCHEMA schema_two; SET search_path = schema_two; ${newSchema('schema_two')}`);
  const catalogOf = async (schema: string) => {
    const ours = `n.nspname = '${schema}' AND c.relname NOT IN ('a', 'searchflow_migrations', 'searchflow_migrations_pkey')`;
    const read = async (sql: string) =>
      JSON.parse(JSON.stringify(await pgQuery(database, sql)).replaceAll(schema, 'schema'));
    return {
      columns: await read(
        `SELECT c.relname, c.relkind, obj_description(c.oid, 'pg_class') AS is, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod),
           a.attnotnull, a.attidentity, a.attcompression, col_description(c.oid, a.attnum)
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped WHERE ${ours} ORDER BY 1, 4`,
      ),
      keys: await read(
        `SELECT c.relname, o.contype, pg_get_constraintdef(o.oid)
         FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${ours} ORDER BY 1, 3`,
      ),
      indexes: await read(
        `SELECT pg_get_indexdef(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind = 'i' AND ${ours} ORDER BY 1`,
      ),
      functions: await read(
        `SELECT p.proname, p.proconfig, p.prosrc FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
         WHERE n.nspname = '${schema}' ORDER BY 1`,
      ),
    };
  };
  const migrated = await catalogOf('schema_one');
  expect(migrated.columns.length).toBeGreaterThan(300);
  expect(await catalogOf('schema_two')).toEqual(migrated);
});
