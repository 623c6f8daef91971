import { chmodSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Warehouse } from '../../../src/warehouse/duckdb/warehouse.js';
import { folderOfFile } from '../../support/files/folders.js';

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
