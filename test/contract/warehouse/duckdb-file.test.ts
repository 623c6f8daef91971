import { chmodSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { expect, it } from 'vitest';
import { Warehouse } from '../../../src/warehouse/duckdb/warehouse.js';
import { openWarehouse } from '../../../src/warehouse/index.js';
import { folderOfFile, folderOfTest } from '../../support/files/folders.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';

const dir = folderOfFile();

function resolvers() {
  let resolve = () => {};
  const promise = new Promise<void>((resolved) => {
    resolve = resolved;
  });
  return { promise, resolve: () => resolve() };
}

it('a DuckDB warehouse writes a large log into the file although other writes never stop', async () => {
  const file = join(dir, 'large.duckdb');
  const warehouse = Warehouse.at(file);
  const logBytes = () => statSync(`${file}.wal`, { throwIfNoEntry: false })?.size ?? 0;
  await warehouse.use(async (connection) => {
    await connection.run('CREATE TABLE texts (text VARCHAR); CREATE TABLE others (n INTEGER)');
    await connection.run("INSERT INTO texts VALUES ('first')");
  });
  const write = resolvers();
  const writing = resolvers();
  const state = warehouse.use(
    async (connection) => {
      await connection.run('BEGIN');
      await connection.run('INSERT INTO others VALUES (1)');
      writing.resolve();
      await write.promise;
      // A COMMIT could write a checkpoint here, because no other transaction is writing now.
      await connection.run('ROLLBACK');
    },
    ['state'],
  );
  await writing.promise;
  const large = 'INSERT INTO texts SELECT repeat(md5(CAST(i AS VARCHAR)), 2000) FROM range(1000) r(i)';
  await warehouse.use((connection) => connection.run(large), ['incoming']);
  expect(logBytes()).toBeGreaterThan(48 * 1_048_576);
  write.resolve();
  await state;
  // The statements keep the database open, because its closing would also write a checkpoint.
  const logSize = async () => {
    await warehouse.use((connection) => connection.run('SELECT 1'), ['incoming']);
    return logBytes();
  };
  await expect.poll(logSize, { timeout: 20_000, interval: 20 }).toBeLessThan(1_048_576);
  await warehouse.close();
});

it('a new DuckDB file and its log are private, and a log has no more rights than its file', async () => {
  const file = join(dir, 'new.duckdb');
  const warehouse = Warehouse.at(file);
  const modes = () => [file, `${file}.wal`].map((path) => statSync(path).mode & 0o777);
  const insert = () => warehouse.use((connection) => connection.run('CREATE TABLE IF NOT EXISTS t AS SELECT 1 AS n'));
  await insert();
  expect(modes()).toEqual([0o600, 0o600]);
  await warehouse.close();
  chmodSync(file, 0o640);
  await warehouse.use((connection) => connection.run('INSERT INTO t VALUES (2)'));
  expect(modes()).toEqual([0o640, 0o640]);
  await warehouse.close();
});

it('a DuckDB warehouse refuses the file to another instance in the same process meanwhile, and accepts it afterwards', async () => {
  const dir = folderOfTest();
  const file = join(dir, `it's "one" file.duckdb`);
  const warehouse = Warehouse.at(file);
  await warehouse.use(async (connection) => {
    await connection.run('CREATE TABLE mine AS SELECT 1 AS one');
    await expect(DuckDBInstance.fromCache(file)).rejects.toThrow('different configuration');
  });
  await warehouse.close();
  expect(await runInDuckDb(file, 'SELECT one FROM mine')).toEqual([{ one: 1 }]);
});

it('all users of a DuckDB file in a process share one warehouse, one instance and one queue', async () => {
  const dir = folderOfTest();
  const file = join(dir, 'shared.duckdb');
  symlinkSync(dir, join(dir, 'link'));
  const warehouse = Warehouse.at(file);
  expect(Warehouse.at(join(dir, 'link', 'shared.duckdb'))).toBe(warehouse);
  const setting = async (connection: DuckDBConnection) =>
    (await connection.runAndReadAll("SELECT current_setting('memory_limit')")).getRows()[0]?.[0];
  const seen: unknown[] = [];
  const opened = openWarehouse(file);
  // The settings of this statement hold until it ends, also for a statement of the other queue.
  await warehouse.use(
    async (connection) => {
      await warehouse.use(async (other) => seen.push(await setting(other)), ['incoming']);
      seen.push(await setting(connection));
    },
    ['state'],
    { memory: 700 },
  );
  await Promise.all([
    warehouse.use(async (connection, grant) => {
      await grant(600);
      seen.push(await setting(connection));
    }),
    opened.events.streams('https://api'),
    opened.monitors.audit.pausesOf('https://api', 'night'),
    opened.rows.holdsRows('job'),
  ]);
  await warehouse.use(async (connection) => seen.push(await setting(connection)));
  expect(seen).toEqual(['667.5 MiB', '667.5 MiB', '572.2 MiB', '488.2 MiB']);
  await opened.close();
});

it('a count, a list and a trace neither create a DuckDB file nor make tables in the file of another program', async () => {
  const dir = folderOfTest();
  const theirs = join(dir, 'theirs.duckdb');
  await runInDuckDb(theirs, 'CREATE TABLE victim AS SELECT 1 AS n');
  const before = readFileSync(theirs);
  for (const file of [theirs, join(dir, 'none.duckdb')]) {
    const { rows, events, close } = openWarehouse(file);
    await expect(rows.summary('j')).rejects.toThrow('There is no job j');
    await expect(rows.exportCsv('j', join(dir, 'j.csv'))).rejects.toThrow('There is no job j');
    expect(await rows.loadedSlices('j', 'g')).toBeNull();
    expect(await rows.placeOf('j', { row: 1 })).toBeNull();
    expect(await rows.lastRuns(5)).toEqual([]);
    expect(await events.streams('https://api')).toEqual([]);
    await close();
  }
  expect(readFileSync(theirs).equals(before)).toBe(true);
  expect(readdirSync(dir)).toEqual(['theirs.duckdb']);
});

// No process can create a folder below /proc, and Node's own recursive mkdir would try for ever.
it.runIf(existsSync('/proc/self'))(
  'a DuckDB warehouse refuses a file below /proc, as in all folders that cannot be created',
  async () => {
    const warehouse = Warehouse.at('/proc/searchflow/tests/x.duckdb');
    await expect(warehouse.use(async () => null)).rejects.toThrow('cannot be opened: name another file');
  },
);
