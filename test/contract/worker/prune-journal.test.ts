import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { RowProgress } from '../../../src/core/rows/row-warehouse.js';
import { WarehouseBusy } from '../../../src/core/rows/warehouse-errors.js';
import { readConfig } from '../../../src/worker/config/config.js';
import { tryWarehouses } from '../../../src/worker/host/worker-here.js';
import { pruneDaily, pruneJournal } from '../../../src/worker/store/prune-journal.js';
import type { Store } from '../../../src/worker/store/store.js';
import { Folder } from '../../support/jobs/folder.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';

it('old answers are removed only of finished jobs of this service whose rows are all in the warehouse', async () => {
  const folder = Folder.ofTest();
  const jobs = [
    { job: 'whole' },
    { job: 'other-generation', completed: 'earlier' },
    { job: 'unfinished', completed: null },
    { job: 'lacking', slices: 3 },
    { job: 'of-another', origin: 'https://another.example' },
    { job: 'elsewhere', into: 'postgres://127.0.0.1/dw' },
    { job: 'gone', into: join(folder.dir, 'gone.duckdb') },
    { job: 'used-lately' },
  ];
  const statements = jobs.flatMap(({ job }) => [
    `INSERT INTO searchflow_jobs (job, name, view_name, origin, operation, input, columns, generation, rows,
        slices, created_at, opened_at)
      VALUES ('${job}', 'x', '${job}', 'sandbox', 'contents', 'x', [], 'gen', 0, 2, now(), now())`,
    `INSERT INTO load_ledger SELECT '${job}', 'gen', slice, 0, 'a', now() FROM range(2) s(slice)`,
  ]);
  await runInDuckDb(folder.into, ...statements);
  const entries = jobs.map(({ job, completed = 'gen', ...staged }) => ({
    ...{ staged: { job, generation: 'gen', slices: 2, origin: 'sandbox', into: folder.into, ...staged }, completed },
  }));
  const pruned: string[] = [];
  const times = new Set<number>();
  const journal = {
    prunableBytes: async (prefix: string, before: number) => {
      times.add(Math.round((Date.now() - before) / 60_000));
      return prefix === 'used-lately/' ? 0 : 1;
    },
    prune: async (prefix: string) => void pruned.push(prefix),
  };
  const store = { entries: { all: async () => entries }, journal: async () => journal } as unknown as Store;
  const env = { SEARCHFLOW_STATE_DIR: folder.stateDir, HOME: folder.dir };
  const config = readConfig({ env, flags: { service: 'sandbox' }, cwd: folder.dir, say: () => undefined });
  await pruneJournal({ ...config, keepLandingMs: 3_600_000 }, store, ({ into }) => !into.startsWith('postgres:'));
  expect(pruned).toEqual(['calls/', 'rows-', 'whole/']);
  expect([...times]).toEqual([60]);
});

it('a worker that runs on removes old answers again and again, until it ends', async () => {
  const staged = { job: 'whole', generation: 'gen', slices: 2, origin: 'sandbox', into: '/dw' };
  const removed: [prefix: string, ageMs: number][] = [];
  const journal = {
    prunableBytes: async () => 1,
    prune: async (prefix: string, before: number) => void removed.push([prefix, Date.now() - before]),
  };
  const entries = { all: async () => [{ staged, completed: 'gen' }] };
  const store = { entries, journal: async () => journal } as unknown as Store;
  let asked = 0;
  const warehouse = {
    loadedSlices: () => {
      asked += 1;
      // A database that cannot be reached is no reason to end, and the end does not wait for one that is silent.
      if (asked === 1) return Promise.reject(new Error('not reached'));
      return asked > 3 ? new Promise(() => undefined) : Promise.resolve([0, 1]);
    },
  } as unknown as RowProgress;
  const config = { origin: 'sandbox', keepLandingMs: 0, keepCallsMs: 3_600_000 };
  const end = pruneDaily(config, store, () => warehouse, { firstMs: 0, everyMs: 5 });
  await expect.poll(() => asked).toBe(4);
  await end();
  expect(removed.filter(([prefix]) => prefix === 'whole/').map(([prefix]) => prefix)).toEqual(['whole/', 'whole/']);
  const ages = removed.flatMap(([prefix, ageMs]) => (prefix === 'calls/' ? [ageMs] : []));
  expect(ages).toHaveLength(4);
  for (const age of ages) expect(age).toBeGreaterThanOrEqual(3_600_000);
});

it('a worker without a login names the running and paused jobs that wait for another worker, and no others', async () => {
  const into = 'postgres://db/dw';
  const entry = (job: string, phase: string, other: string = into) => ({
    ...{ staged: { job, generation: 'g', into: other }, completed: phase === 'done' ? 'g' : null },
    state: { phase, since: 0 },
  });
  const all = [
    ...[entry('runs', 'running'), entry('waits', 'paused'), entry('ended', 'cancelled'), entry('halted', 'stopped')],
    ...[entry('broken', 'failed'), entry('whole', 'done'), entry('elsewhere', 'stopped', 'postgres://db/other')],
  ];
  const asked: string[] = [];
  const said: string[] = [];
  const refusal = { host: 'here', pid: 1, waitsFor: 'a worker that can log in to the warehouse' };
  const warehouseFor = ({ into: address }: { readonly into: string }) => {
    asked.push(address);
    throw new WarehouseBusy('postgres-refused', 'refused', null, refusal);
  };
  const entries = { all: async () => all } as unknown as Store['entries'];
  await tryWarehouses({ say: (text) => said.push(text) }, { entries }, { warehouseFor });
  expect(asked).toEqual([into]);
  expect(said).toEqual([`Jobs into ${into} wait for a worker that can log in to the warehouse: runs, waits.`]);
});
