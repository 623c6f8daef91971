import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { commandFolder } from '../../support/jobs/command-folder.js';
import { plainRows } from '../../support/jobs/folder.js';
import { sharedPostgres } from '../../support/postgres.js';

/** Documented in docs/reference/configuration.md. */
const MOST = { store: 12, warehouse: 5 };

it('a busy worker has at most the documented number of connections to store and warehouse', async () => {
  const [store, warehouse] = await Promise.all([sharedPostgres().database(), sharedPostgres().database()]);
  const sandbox = await startSandbox({ failureRate: 0, textBytes: 2000, latencyMs: 20 });
  const { folder, start } = commandFolder(sandbox, { env: { SEARCHFLOW_STORE: store } });
  rmSync(folder.into);
  folder.write(plainRows(1500));
  const counter = new pg.Client({ connectionString: store });
  await counter.connect();
  const args = ['enrich', folder.input, '--into', warehouse, '--batch', '1', '--qps', '400', '--yes'];
  const command = start(args);
  onTestFinished(() => counter.end());
  const most = { store: 0, warehouse: 0 };
  const names = { store: new URL(store).pathname.slice(1), warehouse: new URL(warehouse).pathname.slice(1) };
  let isOver = false;
  void command.ended.then(() => {
    isOver = true;
  });
  while (!isOver) {
    const sql = 'SELECT datname, count(*)::int AS found FROM pg_stat_activity WHERE pid <> pg_backend_pid() GROUP BY 1';
    const { rows } = await counter.query<{ readonly datname: string; readonly found: number }>(sql);
    for (const kind of ['store', 'warehouse'] as const)
      most[kind] = Math.max(most[kind], rows.find(({ datname }) => datname === names[kind])?.found ?? 0);
    await delay(20);
  }
  expect([await command.ended, command.err()]).toEqual([0, expect.anything()]);
  expect(sandbox.bill().units).toBe(1500);
  // The worker was busy: it used most of its connections.
  expect([most.store > MOST.store / 2, most.warehouse > 1], JSON.stringify(most)).toEqual([true, true]);
  expect([most.store <= MOST.store, most.warehouse <= MOST.warehouse], JSON.stringify(most)).toEqual([true, true]);
});
