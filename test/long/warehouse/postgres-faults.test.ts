import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RowWarehouse } from '../../../src/core/rows/row-warehouse.js';
import { WarehouseBusy, WarehouseUnusable } from '../../../src/core/rows/warehouse-errors.js';
import { openWarehouse } from '../../../src/warehouse/index.js';
import { batchOf, buySlice, exported, runJob, Service, type StagedTest, stageText } from '../../suites/row-job.js';
import { folderOfTest } from '../../support/files/folders.js';
import { ofFile } from '../../support/of-file.js';
import { startPostgres } from '../../support/postgres-server.mjs';
import { startProxy } from '../../support/warehouse/pg-proxy.js';
import { pgQuery } from '../../support/warehouse/pg-query.js';

const small = 'name,url\na,https://a.com/\nb,https://b.com/\n';

describe('a PostgreSQL warehouse, when', () => {
  let dir: string;
  const server = ofFile(startPostgres);
  const proxy = ofFile(() => startProxy(server.port));
  let url: string;
  const warehouses: RowWarehouse[] = [];
  beforeEach(async () => {
    dir = folderOfTest();
    url = await server.database();
  });
  afterEach(async () => {
    proxy.gate = () => true;
    await Promise.all(warehouses.splice(0).map((warehouse) => warehouse.close()));
  });
  const open = (options: { patienceMs?: number; stalledMs?: number } = {}, address = proxy.urlOf(url)) => {
    const warehouse = openWarehouse(address, options).rows;
    warehouses.push(warehouse);
    return warehouse;
  };
  const staged = async (warehouse: RowWarehouse): Promise<{ job: StagedTest; files: string[] }> => {
    const job = await stageText(dir, small);
    await warehouse.openJob(job.record, job.files);
    return { job, files: await buySlice(dir, warehouse, job, 0, new Service()) };
  };
  /**
   * Calls `act` once, when a client sends a statement that contains `said`: before the server gets the statement, or after. Resolves when
   * `act` has ended.
   */
  const when = (said: string, act: () => unknown, moment: 'before' | 'after') =>
    new Promise<void>((done, failed) => {
      let begun = false;
      proxy.gate = async (data) => {
        if (begun || !data.includes(said)) return true;
        begun = true;
        const acting = (async () => {
          // The server executes the statement in this time, so only the answer is lost.
          if (moment === 'after') await delay(20);
          await act();
        })().then(done, failed);
        if (moment === 'before') await acting;
        return true;
      };
    });
  const state = () =>
    pgQuery(
      url,
      `SELECT (SELECT count(*) FROM row_store), (SELECT count(DISTINCT row_number) FROM row_store),
         (SELECT count(*) FROM load_ledger), (SELECT sum(rows) FROM load_ledger)`,
    );
  const whole = [[2, 2, 1, 2]];

  const moments = ['SET LOCAL search_path', 'pg_advisory_xact_lock', 'PGCOPY', 'INSERT INTO row_store', 'COMMIT\0'];
  for (const moment of ['before', 'after'] as const) {
    it.each(moments)(`[39] the server is killed ${moment} %s: the slice is there once`, async (said) => {
      const warehouse = open();
      const { job, files } = await staged(warehouse);
      const restart = async () => {
        await server.kill();
        await server.start();
      };
      const acted = when(said, restart, moment);
      expect(await warehouse.load(batchOf(job, 0, files))).toMatchObject({ rows: 2 });
      await acted;
      expect(await state()).toEqual(whole);
    });

    it.each(moments)(`[40] the connection is cut ${moment} %s: the slice is there once`, async (said) => {
      const warehouse = open();
      const { job, files } = await staged(warehouse);
      const acted = when(said, () => proxy.cut(), moment);
      expect(await warehouse.load(batchOf(job, 0, files))).toMatchObject({ rows: 2 });
      await acted;
      expect(await state()).toEqual(whole);
    });
  }

  it('[39] the answer to its COMMIT is lost, learns from the ledger that the slice is loaded', async () => {
    const warehouse = open();
    const { job, files } = await staged(warehouse);
    void proxy.lose('COMMIT\0');
    expect(await warehouse.load(batchOf(job, 0, files))).toEqual({ rows: 2, already: true });
    expect(await state()).toEqual(whole);
  });

  it('[40] all its connections are terminated again and again, continues', async () => {
    const warehouse = open();
    const rows = Array.from({ length: 3000 }, (_, index) => `n${index},https://a.com/${index}\n`);
    const job = await stageText(dir, `name,url\n${rows.join('')}`, { rowsPerSlice: 100 });
    const slices = await warehouse.openJob(job.record, job.files);
    const batches = [];
    for (const slice of slices)
      batches.push(batchOf(job, slice, await buySlice(dir, warehouse, job, slice, new Service())));
    let loading = true;
    const loads = Promise.allSettled(batches.map((batch) => warehouse.load(batch))).finally(() => {
      loading = false;
    });
    const loaded = async () => Number((await pgQuery(url, 'SELECT count(*) FROM load_ledger'))[0]?.[0]);
    let terminated = 0;
    // Each load lands after some termination on a machine of any speed, because the next one waits for a load.
    for (let before = -1; loading; before = await loaded()) {
      await expect.poll(async () => !loading || (await loaded()) > before, { timeout: 30_000, interval: 5 }).toBe(true);
      const [[count] = []] = await pgQuery(
        url,
        `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'searchflow%'
           AND datname = current_database()`,
      );
      terminated += Number(count);
    }
    const isLoaded = (load: Awaited<typeof loads>[number]) => load.status === 'fulfilled' && load.value.rows === 100;
    expect((await loads).filter((load) => !isLoaded(load))).toEqual([]);
    expect(terminated).toBeGreaterThan(4);
    expect((await exported(dir, warehouse)).map((row) => row.name)).toEqual(rows.map((row) => row.split(',')[0]));
  });

  it('[40] the server becomes a read-only standby, is busy, and continues afterwards', async () => {
    const warehouse = open({ patienceMs: 400 });
    const { job, files } = await staged(warehouse);
    const mode = (readOnly: string) =>
      pgQuery(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = ${readOnly}`);
    const terminate = () =>
      pgQuery(url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'searchflow%'`);
    await mode('on');
    await terminate();
    const error = await warehouse.load(batchOf(job, 0, files)).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(WarehouseBusy);
    expect(String(error)).toContain('read-only');
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query('SET default_transaction_read_only = off');
    await client.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = off`);
    await client.end();
    await terminate();
    expect(await warehouse.load(batchOf(job, 0, files))).toMatchObject({ rows: 2 });
  });

  it('[40] the server is unavailable, is busy, names the address, and continues afterwards', async () => {
    const said: string[] = [];
    const warehouse = openWarehouse(url, { patienceMs: 700, say: (sentence) => said.push(sentence) }).rows;
    warehouses.push(warehouse);
    const { job, files } = await staged(warehouse);
    await server.kill();
    const error = await warehouse.load(batchOf(job, 0, files)).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(WarehouseBusy);
    expect(`${error} ${said}`).toContain(`Waiting for the database postgres://127.0.0.1:${server.port}`);
    expect(`${error} ${said}`).not.toContain(server.password);
    await server.start();
    expect(await warehouse.load(batchOf(job, 0, files))).toMatchObject({ rows: 2, already: false });
  });

  it('[41] another session locks its table, waits, then is busy, and continues afterwards', async () => {
    const warehouse = open({ patienceMs: 400 });
    const { job, files } = await staged(warehouse);
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    await other.query('BEGIN; LOCK TABLE searchflow.row_store IN EXCLUSIVE MODE');
    await expect(warehouse.load(batchOf(job, 0, files))).rejects.toThrow(/locked by another transaction/);
    await expect(warehouse.load(batchOf(job, 0, files))).rejects.toThrow(WarehouseBusy);
    const load = warehouse.load(batchOf(job, 0, files));
    await other.query('COMMIT');
    expect(await load).toMatchObject({ rows: 2 });
    await other.end();
  });

  it('[41] its user has a short statement timeout, is not bound by it', async () => {
    await pgQuery(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET statement_timeout = '1ms'`).catch(
      () => null,
    );
    const rows = Array.from({ length: 2000 }, (_, index) => `n${index},https://a.com/${index}\n`);
    const job = await stageText(dir, `name,url\n${rows.join('')}`, { rowsPerSlice: 2000 });
    const patient = openWarehouse(`${url}?statement_timeout=5000`).rows;
    warehouses.push(patient);
    await runJob(dir, patient, job, new Service());
    expect(await patient.summary('brands-1')).toMatchObject({ success: 2000 });
  });

  it('[26] a process stops in the middle of a load: another loads the slice, and the first finds it loaded', async () => {
    const warehouse = open({ stalledMs: 300 });
    const { job, files } = await staged(warehouse);
    let wake = () => {};
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    when('INSERT INTO row_store', () => woken, 'before');
    const first = warehouse.load(batchOf(job, 0, files, 'stopped'));
    const other = open({}, url);
    expect(await other.load(batchOf(job, 0, files, 'other'))).toEqual({ rows: 2, already: false });
    wake();
    expect(await first).toEqual({ rows: 2, already: true });
    expect(await state()).toEqual(whole);
    expect(await pgQuery(url, 'SELECT attempt FROM load_ledger')).toEqual([['other']]);
  });

  it('[42] a permission of its user is revoked, refuses before anything is bought, and in a load', async () => {
    // Roles belong to the server, not to its databases.
    await pgQuery(url, `CREATE ROLE loader LOGIN PASSWORD 'canary-loader'`);
    await pgQuery(url, `GRANT CREATE, TEMPORARY ON DATABASE ${new URL(url).pathname.slice(1)} TO loader`);
    await runJob(dir, open({}, url), await stageText(dir, small, { job: 'first' }), new Service());
    for (const what of ['SCHEMA', 'ALL TABLES IN SCHEMA', 'ALL SEQUENCES IN SCHEMA'])
      await pgQuery(url, `GRANT ALL ON ${what} searchflow TO loader`);
    const theirs = Object.assign(new URL(url), { username: 'loader', password: 'canary-loader' });
    const warehouse = open({}, theirs.href);
    const { job, files } = await staged(warehouse);
    await pgQuery(url, 'REVOKE INSERT, DELETE ON row_store FROM loader');
    const refused = await warehouse.openJob(job.record, job.files).catch((reason: unknown) => reason);
    expect(refused).toBeInstanceOf(WarehouseUnusable);
    expect(String(refused)).toMatch(/needs (DELETE ON row_store, INSERT|INSERT ON row_store, DELETE) ON row_store/);
    expect(String(refused)).not.toContain('canary');
    await expect(warehouse.load(batchOf(job, 0, files))).rejects.toThrow(WarehouseUnusable);
  });

  it('[42] the schema is dropped while a job runs, reports it, and is created again by the same job', async () => {
    const warehouse = open({}, url);
    const { job, files } = await staged(warehouse);
    await pgQuery(url, 'DROP SCHEMA searchflow CASCADE');
    expect(await warehouse.loadedSlices('brands-1', job.record.generation)).toBeNull();
    await expect(warehouse.load(batchOf(job, 0, files))).rejects.toThrow(WarehouseUnusable);
    await warehouse.openJob(job.record, job.files);
    expect(await warehouse.load(batchOf(job, 0, files))).toMatchObject({ rows: 2, already: false });
  });

  it('[42] a view depends on a job’s view, names it when the columns change', async () => {
    const warehouse = open({}, url);
    await runJob(dir, warehouse, await stageText(dir, small), new Service());
    await pgQuery(url, 'CREATE VIEW mine AS SELECT name FROM brands');
    await runJob(dir, warehouse, await stageText(dir, `${small}c,https://c.com/\n`), new Service());
    const wider = await stageText(dir, 'name,url,more\na,https://a.com/,1\n');
    await expect(warehouse.openJob(wider.record, wider.files)).rejects.toThrow(
      /cannot be changed while other views depend on it/,
    );
    expect(await warehouse.summary('brands-1')).toMatchObject({ rows: 3, success: 3 });
  });
});
