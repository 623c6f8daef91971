import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import type { RowWarehouse } from '../../../src/core/rows/row-warehouse.js';
import { WarehouseBusy, WarehouseUnusable } from '../../../src/core/rows/warehouse-errors.js';
import { createWarehouses, openWarehouse } from '../../../src/warehouse/index.js';
import { batchOf, buySlice, exported, runJob, Service, stageText } from '../../suites/row-job.js';
import { rowsContract } from '../../suites/rows-contract.js';
import { folderOfFile } from '../../support/files/folders.js';
import { placeEmptyWarehouse } from '../../support/warehouse/empty-warehouse.js';
import { duckDbUnderTest, queryDuckDb } from '../../support/warehouse/warehouses-under-test.js';

const here = fileURLToPath(new URL('../../support/warehouse/', import.meta.url));
const run = promisify(execFile);
const read = async (file: string, sql: string) => (await queryDuckDb(file, sql)).rows;

describe('a DuckDB warehouse', () => {
  rowsContract(duckDbUnderTest);
});

describe('a DuckDB file', () => {
  const dir = folderOfFile();
  const children: ChildProcess[] = [];
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL');
  });
  let files = 0;
  const newFile = () => placeEmptyWarehouse(join(dir, `w${++files}.duckdb`));
  const small = 'name,url\na,https://a.com/\nb,https://b.com/\n';

  async function loaded(file: string): Promise<RowWarehouse> {
    const warehouse = openWarehouse(file).rows;
    await runJob(dir, warehouse, await stageText(dir, small), new Service());
    return warehouse;
  }

  async function change(file: string, ...statements: string[]): Promise<void> {
    for (const sql of statements) await queryDuckDb(file, sql);
  }

  async function problem(warehouse: RowWarehouse): Promise<Error> {
    const staged = await stageText(dir, small);
    const error = await warehouse.openJob(staged.record, staged.files).catch((reason: unknown) => reason);
    await warehouse.close();
    expect(error).toBeInstanceOf(Error);
    return error as Error;
  }

  async function holder(file: string): Promise<ChildProcess> {
    const script = `import { DuckDBInstance } from '@duckdb/node-api';
      const instance = await DuckDBInstance.create(process.argv[1]); process.stdout.write('held'); setInterval(() => instance, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, file], { cwd: here });
    children.push(child);
    await once(child.stdout, 'data');
    return child;
  }

  it('is busy, and names the process, while another one has it, and continues afterwards', async () => {
    const file = newFile();
    const warehouse = await loaded(file);
    await warehouse.close();
    const child = await holder(file);
    const error = await problem(warehouse);
    expect(error).toBeInstanceOf(WarehouseBusy);
    expect(error).toMatchObject({
      pid: child.pid,
      message: `${file} is open in process ${child.pid}: close it there first`,
    });
    await expect(warehouse.loadedSlices('brands-1', 'x')).rejects.toThrow(WarehouseBusy);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await warehouse.summary('brands-1')).toMatchObject({ success: 2 });
    await warehouse.close();
  });

  it('is released to other processes a moment after its last use', async () => {
    const file = newFile();
    await loaded(file);
    const script = `import { DuckDBInstance } from '@duckdb/node-api';
      for (;;) try { await DuckDBInstance.create(process.argv[1]); break } catch { await new Promise((done) => setTimeout(done, 20)) }`;
    await run(process.execPath, ['--input-type=module', '-e', script, file], { cwd: here, timeout: 20_000 });
  });

  it('is opened once for a file, also for a second set of warehouses in the process', async () => {
    const file = newFile();
    const [warehouses, others] = [createWarehouses(), createWarehouses()];
    expect(warehouses.open(file)).toBe(warehouses.open(`${dir}/../${dir.split('/').at(-1)}/${file.split('/').at(-1)}`));
    await runJob(dir, warehouses.open(file).rows, await stageText(dir, small), new Service());
    expect(await others.open(file).rows.summary('brands-1')).toMatchObject({ success: 2 });
    await others.close();
    expect(await warehouses.open(file).rows.summary('brands-1')).toMatchObject({ success: 2 });
    await warehouses.close();
  });

  it('uses the newest line of a unit if another line is too long to load in one piece', async () => {
    const file = newFile();
    const warehouse = openWarehouse(file).rows;
    const text = 'x'.repeat(17 * 1_048_576);
    const service = new Service((url) => (url === 'https://b.com/' ? { result: { url, text } } : {}));
    const staged = await stageText(dir, small);
    await warehouse.openJob(staged.record, staged.files);
    const [old = ''] = await buySlice(dir, warehouse, staged, 0, service);
    writeFileSync(old, `${readFileSync(old, 'utf8').split('\n')[0]}\n`);
    service.now += 60_000;
    const [young = ''] = await buySlice(dir, warehouse, staged, 0, service);
    for (const files of [
      [young, old],
      [old, young],
    ]) {
      await warehouse.load(batchOf(staged, 0, files));
      await warehouse.close();
      expect(await read(file, 'SELECT request_id, length(text) FROM enriched_rows ORDER BY row_number')).toEqual([
        ['request-3', 22],
        ['request-4', text.length],
      ]);
      await change(file, 'DELETE FROM row_store', 'DELETE FROM load_ledger');
    }
    await warehouse.close();
  });

  it('holds the source of each row, and comments on its tables', async () => {
    const file = newFile();
    await (await loaded(file)).close();
    const [row] = await read(
      file,
      'SELECT origin, job, slice, request_id, cost_micros, cost_dollars::VARCHAR, fetched_at::VARCHAR, input FROM enriched_rows',
    );
    expect(row?.slice(0, 7)).toEqual(['sandbox', 'brands-1', 0, 'request-1', 1000, '0.001000', '2026-11-20 10:00:00']);
    expect(await read(file, 'SELECT count(*) FROM duckdb_tables() WHERE comment IS NULL')).toEqual([[0]]);
  });

  it('that is not a database, not a file or truncated is refused with a remedy', async () => {
    const [garbage, truncated] = [newFile(), newFile()];
    writeFileSync(garbage, 'x'.repeat(5000));
    truncateSync(truncated, 9000);
    const directory = join(dir, 'folder.duckdb');
    mkdirSync(directory);
    for (const file of [garbage, truncated, directory]) {
      const error = await problem(openWarehouse(file).rows);
      expect(error).toBeInstanceOf(WarehouseUnusable);
      expect(error.message).toContain(file);
    }
    writeFileSync(join(dir, 'file'), '');
    await expect(problem(openWarehouse(join(dir, 'file', 'x.duckdb')).rows)).resolves.toBeInstanceOf(WarehouseUnusable);
  });

  it('with changed tables is refused before anything is bought, naming each change', async () => {
    const file = newFile();
    await (await loaded(file)).close();
    await change(file, 'DROP TABLE unknown_outcomes', 'CREATE TABLE mine (a INTEGER)');
    await change(file, 'ALTER TABLE load_ledger ADD COLUMN mine VARCHAR');
    const error = await problem(openWarehouse(file).rows);
    expect(error).toBeInstanceOf(WarehouseUnusable);
    expect(error.message).toContain('the table unknown_outcomes is missing');
    expect(error.message).not.toContain('load_ledger.mine');
    await change(
      file,
      'DROP VIEW brands',
      'DROP VIEW enriched_rows',
      'ALTER TABLE row_store ALTER slice TYPE VARCHAR',
      'ALTER TABLE row_store DROP title',
    );
    const second = await problem(openWarehouse(file).rows);
    expect(second.message).toContain('row_store.title is missing');
    expect(second.message).toContain('row_store.slice is VARCHAR instead of INTEGER');
  });

  it('of another program is refused and left as it was', async () => {
    const file = join(dir, 'former.duckdb');
    await change(file, 'CREATE TABLE searchflow_migrations (name VARCHAR, executed_at TIMESTAMP)');
    await change(file, `INSERT INTO searchflow_migrations VALUES ('0001-row-jobs', now()::TIMESTAMP)`);
    const before = readFileSync(file);
    const error = await problem(openWarehouse(file).rows);
    expect(error).toBeInstanceOf(WarehouseUnusable);
    expect(error.message).toBe(`${file} was not created by this version of searchflow. Load into another file`);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('with a table of another program is refused, and gets no other table', async () => {
    const file = join(dir, 'of-others.duckdb');
    await change(file, 'CREATE TABLE events (mine INTEGER)');
    const error = await problem(openWarehouse(file).rows);
    expect(error).toBeInstanceOf(WarehouseUnusable);
    expect(error.message).toContain(`${file} has tables or views of the same names that are not this warehouse's`);
    expect(await read(file, 'SELECT table_name FROM duckdb_tables()')).toEqual([['events']]);
  });

  it('of a newer version is refused', async () => {
    const file = newFile();
    await (await loaded(file)).close();
    await change(file, `INSERT INTO searchflow_migrations VALUES ('9999-later', now()::TIMESTAMP)`);
    expect((await problem(openWarehouse(file).rows)).message).toContain(
      'newer version of searchflow (it has 9999-later)',
    );
  });

  it('with a torn log opens at the last commit; with a damaged one it names the remedy', async () => {
    const file = newFile();
    const warehouse = await loaded(file);
    await warehouse.close();
    const script = `import { DuckDBInstance } from '@duckdb/node-api';
      const c = await (await DuckDBInstance.create(process.argv[1])).connect();
      await c.run("CREATE TABLE big AS SELECT range AS n FROM range(1000)"); await c.run("INSERT INTO big SELECT range FROM range(1000)");
      process.kill(process.pid, 'SIGKILL')`;
    await run(process.execPath, ['--input-type=module', '-e', script, file], { cwd: here }).catch(() => undefined);
    expect(existsSync(`${file}.wal`)).toBe(true);
    appendFileSync(`${file}.wal`, Buffer.alloc(100, 7));
    const torn = await warehouse.summary('brands-1').catch((error: unknown) => error as Error);
    if (torn instanceof Error) expect(torn).toBeInstanceOf(WarehouseUnusable);
    else expect(torn).toMatchObject({ success: 2 });
    await warehouse.close();
  });

  it('opens in a new directory, with any characters in its path', async () => {
    const strange = join(dir, `it's [a] *strange* "dir"?`);
    const warehouse = openWarehouse(join(strange.replace('?', ''), 'deep', 'x.duckdb')).rows;
    expect(await problem(openWarehouse(join(strange, 'x.duckdb')).rows)).toBeInstanceOf(WarehouseUnusable);
    await runJob(strange, warehouse, await stageText(strange, small), new Service());
    expect(await exported(strange, warehouse)).toHaveLength(2);
    await warehouse.close();
  });
});
