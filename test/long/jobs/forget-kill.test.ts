import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { Secret } from '../../../dist/core/connections/secret.js';
import { openJob, surroundings } from '../../support/jobs/command.js';
import { plainRows } from '../../support/jobs/folder.js';
import { filesWith, forget, usageOf } from '../../support/jobs/forgetting.js';
import { sharedPostgres } from '../../support/postgres.js';
import { openTemporal } from '../../support/temporal.js';
import { pgQuery } from '../../support/warehouse/pg-query.js';

const here = surroundings(openTemporal, { textBytes: 3000, failureRate: 0 });
const script = fileURLToPath(new URL('../../support/jobs/forget-until.mjs', import.meta.url));

/** A row that is forgotten once, and named again. */
const OTHER = 60;

it('a forget that is killed at any step is completed by the next one: no byte is left, and nothing is bought', async () => {
  const { folder, run, config, bought } = openJob(here, plainRows(60));
  await run();
  const before = await usageOf(config);
  const { apiKey: _, ...settings } = config;
  const urlOf = (row: number) => `https://site-${row - 1}.example/about`;
  const child = (row: number, at: number, after: number) =>
    promisify(execFile)(process.execPath, [script, JSON.stringify(settings), urlOf(row), String(at), String(after)]);
  const steps = Number((await child(1, 0, 0)).stdout);
  expect(steps).toBeGreaterThan(7);
  for (let at = 1; at < steps; at++) {
    const row = at + 1;
    // Every other step is killed a moment after its beginning.
    const after = at % 2 === 0 ? 20 : 0;
    const texts = [`site-${row - 1}.example`, `Company ${row - 1},`, `"Company ${row - 1}"`];
    await child(row, at, after).catch((error: { signal?: string }) => expect(error.signal).toBe('SIGKILL'));
    // A half-forgotten row is not bought, and the bill is the same.
    if (at === 3) expect((await run({ rebuy: true })).plan.toBuy).toBe(0);
    expect(await usageOf(config)).toEqual(before);
    // Once the units are recorded, a forget of any other row completes the killed one, too.
    await forget(config, { url: urlOf(at > 1 ? OTHER : row) });
    expect(filesWith(folder.dir, texts), `step ${at}, after ${after} ms`).toEqual([]);
  }
  await run({ rebuy: true, retryFailed: true });
  expect(bought()).toBe(60);
  expect(await usageOf(config)).toEqual(before);
}, 600_000);

it('with stores and warehouses in PostgreSQL, the data of a row is in no table, and nothing is bought again', async () => {
  const { folder, run, config: usual, bought } = openJob(here, plainRows(40));
  const [store, warehouse] = [await sharedPostgres().database('store'), await sharedPostgres().database('warehouse')];
  const address = (url: string) => ({ url: new Secret(url), shown: url.replace(/:[^:@/]*@/, '@') });
  const config = { ...usual, store: address(store), warehouse: address(warehouse) };
  const changes = { into: address(warehouse).shown };
  await run(changes, config);
  const before = await usageOf(config);
  const { plan, done } = await forget(config, { url: 'https://site-7.example/about' });
  expect(plan).toMatchObject({ units: 1, rows: 1, bodies: 1 });
  expect(done?.notes).toEqual([]);
  expect(await usageOf(config)).toEqual(before);
  expect((await forget(config, { url: 'https://site-7.example/about' })).isEmpty).toBe(true);
  for (const [url, schema] of [
    [store, 'searchflow_store'],
    [warehouse, 'searchflow'],
  ] as const) {
    const tables = await pgQuery(
      url,
      `SELECT c.relname FROM pg_class c WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'r'`,
    );
    for (const [name] of tables) {
      const found = await pgQuery(url, `SELECT 1 FROM "${schema}"."${name}" t WHERE t::text LIKE '%site-7.example%'`);
      expect([name, found.length]).toEqual([name, 0]);
    }
  }
  folder.write(plainRows(41));
  await run({ ...changes, rebuy: true, retryFailed: true }, config);
  await run({ ...changes, job: 'other' }, config);
  await run({ ...changes, refreshAfterMs: 0 }, config);
  expect(bought()).toBe(41);
  expect(here.sandbox.bill().keys['contents https://site-7.example/about']).toBe(1);
  expect(here.sandbox.bill().keys['contents https://site-6.example/about']).toBeGreaterThan(1);
  const rows = await pgQuery(
    warehouse,
    `SELECT DISTINCT url, status, error_tag, array_to_string(input, ',') AS cells FROM searchflow.row_store WHERE error_tag = 'FORGOTTEN'`,
  );
  expect(rows).toEqual([[null, 'error', 'FORGOTTEN', '']]);
});
