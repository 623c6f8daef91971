import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, it, onTestFinished } from 'vitest';
import { Warehouse } from '../../../src/sinks/duckdb/warehouse.js';

it('refuses the file to whoever opens it in the same process meanwhile, and gives it to him afterwards', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'searchflow-shared-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, `it's "one" file.duckdb`);
  const warehouse = new Warehouse(file);
  await warehouse.use(async (connection) => {
    await connection.run('CREATE TABLE mine AS SELECT 1 AS one');
    await expect(DuckDBInstance.fromCache(file)).rejects.toThrow('different configuration');
  });
  await warehouse.close();
  const theirs = await DuckDBInstance.fromCache(file);
  const connection = await theirs.connect();
  expect((await connection.runAndReadAll('SELECT one FROM mine')).getRows()).toEqual([[1]]);
  connection.closeSync();
  theirs.closeSync();
});

it('is one database for two of its kind in a process', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'searchflow-shared-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, 'shared.duckdb');
  const [one, two] = [new Warehouse(file), new Warehouse(file)];
  // At once: neither may find the database gone while the other opens it.
  await Promise.all([one, two].map((each) => each.use((connection) => connection.run('SELECT * FROM event_streams'))));
  await one.use(async (connection) => {
    await connection.run('CREATE TABLE numbers AS SELECT 1 AS number');
    await two.use((other) => other.run('INSERT INTO numbers VALUES (2)'));
    expect((await connection.runAndReadAll('SELECT number FROM numbers ORDER BY 1')).getRows()).toEqual([[1], [2]]);
  });
  await Promise.all([one.close(), two.close()]);
});

// Its folders are the system's own: nobody can make one there, which Node's own way of making several tries for ever.
it.runIf(existsSync('/proc/self'))(
  'refuses a file below /proc, as everywhere where its folder can’t be made',
  async () => {
    const warehouse = new Warehouse('/proc/searchflow/tests/x.duckdb');
    await expect(warehouse.use(async () => null)).rejects.toThrow("can't be opened there: name another file");
  },
);
