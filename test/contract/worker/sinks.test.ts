import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, describe, expect, inject, it, vi } from 'vitest';
import type { JobSummary } from '../../../src/core/row-job-schemas.js';
import type { SinkBatch } from '../../../src/core/rows/sink.js';
import { type ServiceOptions, startService } from '../../service/service.mjs';
import { folderOfFile } from '../../support/files/folders.js';
import { codePath } from '../../support/jobs/host.js';
import { endProcess } from '../../support/jobs/processes.js';
import { sharedPostgres } from '../../support/postgres.js';
import { fileNamespace, temporalOfFile } from '../../support/temporal.js';
import { isLong } from '../../support/tier.js';
import { pgQuery } from '../../support/warehouse/pg-query.js';
import { readDuckDb } from '../../support/warehouse/read-duckdb.js';

const temporal = temporalOfFile();
const folder = folderOfFile();
const script = fileURLToPath(new URL('../../support/worker/sink-worker.mjs', import.meta.url));

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** How the sink of a worker behaves. */
interface Behaviour {
  readonly everyThirdFails?: boolean;
  /** Duration of a load in ms. */
  readonly ms?: number;
}

/** A service, and workers with the sink `mine` on one record: a folder, or a PostgreSQL store. */
async function open(record: 'folder' | 'store', options: ServiceOptions = {}) {
  const service = await startService(options);
  closing.push(() => service.close());
  const taskQueue = randomUUID();
  const dir = join(folder, taskQueue);
  mkdirSync(dir);
  const log = join(dir, 'loads.jsonl');
  writeFileSync(log, '');
  const store = record === 'store' ? await sharedPostgres().database('sinks') : null;
  const lines = () =>
    readFileSync(log, 'utf8')
      .split('\n')
      // The last line may be in the middle of its write.
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { pid: number; batch?: SinkBatch; loaded?: string });
  return {
    service,
    dir,
    lines,
    given: () => lines().flatMap(({ batch }) => batch ?? []),
    async worker({ everyThirdFails = false, ms = 0 }: Behaviour = {}, more: object = {}): Promise<ChildProcess> {
      const plugin = {
        ...{ apiKey: service.key, baseUrl: service.url, qps: 100, concurrency: 8, paths: [dir] },
        ...(store === null
          ? { stateDir: join(dir, 'state') }
          : { store, stateDir: join(dir, `state-${randomUUID()}`) }),
        ...more,
      };
      const address = inject('temporalAddress');
      const asked = { address, namespace: fileNamespace(), taskQueue, codePath, log, everyThirdFails, ms, plugin };
      const child = spawn(process.execPath, [script, JSON.stringify(asked)], { stdio: ['ignore', 'pipe', 'inherit'] });
      closing.push(() => endProcess(child));
      await once(child.stdout as NodeJS.ReadableStream, 'data');
      return child;
    },
    start: (workflow: string, input: object, workflowId: string = randomUUID()) =>
      temporal.client.workflow.start(workflow, { taskQueue, workflowId, args: [input] }),
    /** The ledger of the sink. */
    ledger: async () => {
      const columns = 'batch_id, CAST(rows AS INTEGER), loaded_at IS NOT NULL';
      if (store !== null)
        return pgQuery(store, `SELECT ${columns} FROM searchflow_store_sink_mine.sink_batches`) as Promise<unknown[][]>;
      const file = join(dir, 'state', 'sinks', 'mine.duckdb');
      const found = await readDuckDb<Record<string, unknown>>(file, `SELECT ${columns} FROM sink_batches`);
      return found.map((row) => Object.values(row));
    },
  };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** Checks that all calls with a batch id had the same rows, and that the ledger has exactly these batches; returns the rows of each. */
async function checked({ given, ledger }: Opened): Promise<readonly SinkBatch[]> {
  const batches = new Map<string, SinkBatch>();
  for (const batch of given()) {
    const first = batches.get(batch.batchId) ?? batch;
    if (!isDeepStrictEqual(first, batch)) throw new Error(`the batch ${batch.batchId} has changed`);
    batches.set(batch.batchId, batch);
  }
  const rows = [...batches.values()].map((batch) => [batch.batchId, batch.rows.length, true]);
  // The worker closes its file a moment after the last use.
  const found = await vi.waitFor(ledger, { timeout: 10_000, interval: 200 });
  expect([...found].sort()).toEqual(rows.sort());
  return [...batches.values()];
}

const urls = (count: number) => Array.from({ length: count }, (_, nth) => `https://site-${nth}.example/`);

function inputOf({ dir }: Opened, count: number) {
  const input = join(dir, 'brands.csv');
  const rows = urls(count).map((url, nth) => `${nth},${url}\n`);
  writeFileSync(input, `id,url\n${rows.join('')}`);
  return { input, urlColumn: 'url', into: 'sink:mine' };
}

/** Kills a worker in the middle of its nth load. */
async function killInLoad({ given }: Opened, child: ChildProcess, nth: number, end: Promise<unknown>): Promise<void> {
  const reached = vi.waitUntil(() => given().length >= nth, { timeout: 60_000, interval: 5 });
  await Promise.race([reached, end.then(() => Promise.reject(new Error('the work ended before')))]);
  await endProcess(child);
}

// The long tier has the store; sink-loads.test.ts has the steps of both.
describe.each([isLong ? 'store' : 'folder'] as const)('a sink with a record in a %s', (record) => {
  /** The result of a workflow with a sink that fails and is slow. With a store its worker is killed in the nth load. */
  const endOf = async (opened: Opened, workflow: string, nth: number): Promise<unknown> => {
    const first = await opened.worker({ everyThirdFails: true, ms: 200 });
    const handle = await opened.start(workflow, { into: 'sink:mine' });
    if (record === 'store') {
      await killInLoad(opened, first, nth, handle.result());
      await opened.worker({ everyThirdFails: true });
    }
    return handle.result();
  };

  it('gets each row of a job, although it fails every third call, is slow and is killed in mid-load', async () => {
    const opened = await open(record, { rows: { failureRate: 0.05 } });
    const first = await opened.worker({ everyThirdFails: true, ms: 300 });
    const handle = await opened.start('enrichCsv', { ...inputOf(opened, 400), batch: 10 });
    await killInLoad(opened, first, 5, handle.result());
    await opened.worker({ everyThirdFails: true, ms: 20 });
    const summary = (await handle.result()) as JobSummary;
    expect(summary).toMatchObject({ phase: 'done', into: 'sink:mine', warehouse: { rows: 400, missing: 0 } });
    const batches = await checked(opened);
    const numbers = batches.flatMap(({ rows }) => rows.map(({ row_number }) => row_number as number));
    const failed = batches.flatMap(({ rows }) => rows.filter(({ status }) => status === 'error'));
    expect([failed.length > 0, failed.length]).toEqual([true, summary.failed]);
    expect(numbers.sort((a, b) => a - b)).toEqual(urls(400).map((_, nth) => nth + 1));
    expect(batches[0]?.columns.map(({ name, type }) => `${name} ${type}`)).toEqual(
      expect.arrayContaining(['id text', 'cost_dollars number', 'fetched_at time', 'response json']),
    );
    // The purchases that a kill left without an answer are listed; nothing else is bought again.
    expect(opened.service.purchases.chargedAgain().size).toBeLessThanOrEqual(10 * summary.unknownOutcomes);
    const calls = opened.lines().length;
    await (await opened.start('enrichCsv', { ...inputOf(opened, 400), batch: 10 })).result();
    expect(opened.lines()).toHaveLength(calls);
  });

  it('gets each event, with a store also of a walk that is killed', async () => {
    const count = isLong ? 3000 : 300;
    const opened = await open(record, { events: { count } });
    expect(await endOf(opened, 'syncEvents', 1)).toMatchObject({ phase: 'done' });
    const ids = (await checked(opened)).flatMap(({ table, rows }) => rows.map(({ id }) => `${table} ${id}`));
    expect(new Set(ids).size).toBe(count);
    const calls = opened.lines().length;
    await (await opened.start('syncEvents', { into: 'sink:mine' })).result();
    expect(opened.lines()).toHaveLength(calls);
  });

  it('gets each run of each monitor, with a store also of an export that is killed', async () => {
    const opened = await open(record, { monitors: { count: 4 } });
    const { records, runs: ofService } = opened.service.monitors;
    for (const monitorId of records.keys()) {
      const runs = urls(5).map((_, nth) => ({
        id: `${monitorId}-${nth}`,
        monitorId,
        status: 'failed',
        createdAt: '2026-11-20T10:00:00Z',
      }));
      ofService.set(monitorId, runs);
    }
    expect(await endOf(opened, 'exportMonitorRuns', 2)).toMatchObject({ added: 20 });
    const found = (await checked(opened)).flatMap(({ table, rows }) => rows.map(({ id }) => `${table} ${id}`));
    expect(new Set(found)).toEqual(new Set([...ofService.values()].flat().map(({ id }) => `monitor_runs ${id}`)));
  });
});

it.skipIf(isLong)('what a sink cannot take is refused by name before anything is bought or staged', async () => {
  const opened = await open('folder', { events: { count: 10 }, monitors: { count: 1 } });
  await opened.worker();
  const input = inputOf(opened, 5);
  const misspelt = 'into: this worker has no sink mime. Did you mean sink:mine?';
  for (const [workflow, asked, sentence] of [
    ['enrichCsv', { ...input, into: 'sink:mime' }, misspelt],
    ['syncEvents', { into: 'sink:mime' }, misspelt],
    ['exportMonitorRuns', { into: 'sink:mime' }, misspelt],
    [
      'enrichCsv',
      { ...input, csv: join(opened.dir, 'out.csv') },
      'csv: the rows of a job into sink:mine are in the sink.',
    ],
    ['enrichCsv', { ...input, publish: { to: join(opened.dir, 'to') } }, 'publish: the rows of a job into sink:mine'],
    ['syncAgentRuns', { into: 'sink:mine' }, 'into: the sink mine takes rows, events and runs of monitors.'],
    [
      'batchMonitors',
      { action: 'pause', filter: { name: 'x' }, into: 'sink:mine' },
      'into: the sink mine takes rows, events',
    ],
  ] as const) {
    const handle = await opened.start(workflow, asked);
    const refusal = await handle.result().then(
      () => null,
      ({ cause }) => String(cause?.cause?.message ?? cause?.message),
    );
    expect(refusal, workflow).toContain(sentence);
  }
  expect(opened.service.purchases.report().requests).toBe(0);
  expect(opened.given()).toEqual([]);
  expect(existsSync(join(opened.dir, 'state', 'stages'))).toBe(false);
});
