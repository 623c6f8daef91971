import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeAll, expect, inject, it } from 'vitest';
import type { EnrichRowsInput, RowResult, RowsSummary } from '../../../src/core/enrich-rows-schemas.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import { folderOfFile } from '../../support/files/folders.js';
import { endProcess } from '../../support/jobs/processes.js';
import { examplePath } from '../../support/run-example.js';
import { fileNamespace, temporalOfFile } from '../../support/temporal.js';

/** `ENRICH_ROWS=3000` makes the test as large as the promise, and adds runs without a cap. */
const count = Number(process.env.ENRICH_ROWS ?? 1000);
const cap = count >= 3000 ? 1 : 0.6;
/** Requests of one worker in flight at once: a few, and as many as the rate allows. */
const few = 4;
const many = 50;
const urlsPerRequest = { contents: 100, search: 1 };
/** Dollars that a request may cost at most. */
const mostOfRequest = { contents: 0.1, search: 0.015 };

const temporal = temporalOfFile();
const folder = folderOfFile();
const script = fileURLToPath(new URL('../../support/worker/alone-worker.mjs', import.meta.url));
const venv = join(folder, 'venv');
const codePath = inject('teamWorkflows');
let worker: ChildProcess | null = null;
let service: Sandbox | null = null;

beforeAll(() => {
  mkdirSync(folder, { recursive: true });
  execFileSync('python3', ['-m', 'venv', venv]);
  const requirements = examplePath('enrich-rows/requirements.txt');
  execFileSync(join(venv, 'bin', 'pip'), ['install', '--quiet', '--requirement', requirements]);
}, 300_000);
afterEach(async () => {
  if (worker) await endProcess(worker);
  await service?.close();
});

interface Enriched {
  readonly results: readonly Pick<RowResult, 'index' | 'error'>[];
  readonly summary: RowsSummary;
}

/** The two ways into `enrichRows`: a workflow of a team, and the workflow for other languages from Python. */
const clients = {
  TypeScript: (input: EnrichRowsInput, taskQueue: string): Promise<Enriched> =>
    temporal.client.workflow.execute('outcomes', { taskQueue, workflowId: randomUUID(), args: [input] }),
  Python: async ({ rows = [], ...fields }: EnrichRowsInput, taskQueue: string): Promise<Enriched> => {
    const file = join(folder, `${randomUUID()}.jsonl`);
    writeFileSync(file, rows.map((row) => JSON.stringify(row)).join('\n'));
    const { stdout, stderr } = await promisify(execFile)(
      join(venv, 'bin', 'python'),
      [examplePath('enrich-rows/client.py'), file, JSON.stringify(fields)],
      {
        maxBuffer: 2 ** 28,
        env: {
          ...{ ...process.env, TASK_QUEUE: taskQueue, TEMPORAL_ADDRESS: inject('temporalAddress') },
          TEMPORAL_NAMESPACE: fileNamespace(),
        },
      },
    );
    const parsed = (lines: string) => JSON.parse(`[${lines.trim().replaceAll('\n', ',')}]`);
    const pages: readonly RowsSummary[] = parsed(stderr);
    const unknownOutcomes = pages.reduce((sum, page) => sum + page.unknownOutcomes, 0);
    const summary = { ...(pages.at(-1) as RowsSummary), unknownOutcomes };
    return { results: parsed(stdout), summary };
  },
};

type Case = readonly [keyof typeof clients, 'contents' | 'search', record: boolean, number | undefined, number];
const all = (['TypeScript', 'Python'] as const).flatMap((client) =>
  (['contents', 'search'] as const).flatMap((operation) =>
    [false, true].flatMap((record) =>
      [cap, undefined].map(
        (most): Case => [client, operation, record, most, record && operation === 'search' ? many : few],
      ),
    ),
  ),
);
const some: readonly Case[] = [
  ['TypeScript', 'contents', false, cap, few],
  ['TypeScript', 'search', true, 1, many],
  ['Python', 'contents', true, cap, few],
  ['Python', 'search', false, cap, few],
];

it.each(count >= 3000 ? all : some)(
  'rows from %s, %s, with a record: %s, cap $%s: killed twice, each row comes once, in order, and no more is paid than was in flight',
  async (client, operation, record, most, inFlight) => {
    service = await startSandbox({ failureRate: 0, latencyMs: operation === 'search' ? 100 : 300 });
    const { url } = service;
    const taskQueue = randomUUID();
    const plugin = { qps: 200, concurrency: inFlight, ...(record ? { stateDir: join(folder, taskQueue) } : {}) };
    const config = { address: inject('temporalAddress'), namespace: fileNamespace(), taskQueue, codePath, url, plugin };
    const start = async () => {
      const given = JSON.stringify({ ...config, plugin: { origin: 'sandbox', ...plugin } });
      worker = spawn(process.execPath, [script, given], { stdio: ['ignore', 'pipe', 'inherit'] });
      await once(worker.stdout as NodeJS.ReadableStream, 'data');
    };
    await start();
    const rows = Array.from({ length: count }, (_, nth) => ({ company: `c${nth}`, url: `https://s${nth}.example/` }));
    const search = { operation, template: { query: '{{company}}', numResults: 1 } };
    const how = { maxCostDollars: most, concurrency: inFlight, ...(operation === 'search' ? search : {}) };
    const started = Date.now();
    const run = clients[client]({ rows, ...how }, taskQueue);
    const price = operation === 'search' ? 0.007 : 0.001;
    const wanted = Math.min(count, most === undefined ? count : Math.floor(most / price));
    for (const part of [0.25, 0.6]) {
      const requests = Math.max(1, Math.floor((part * wanted) / urlsPerRequest[operation]));
      await expect.poll(() => service?.log().length, { timeout: 150_000 }).toBeGreaterThanOrEqual(requests);
      if (worker) await endProcess(worker);
      await start();
    }
    const { results, summary } = await run;
    const { micros, units, keys } = service.bill();
    const bought = results.filter(({ error }) => error === null).length;
    const again = units - Object.keys(keys).length;
    const lost = 2 * inFlight * urlsPerRequest[operation];
    const figures = { seconds: Math.round((Date.now() - started) / 1000), bought, again, dollars: micros / 1e6 };
    process.stdout.write(`${JSON.stringify([client, operation, record, most ?? null, figures, summary])}\n`);
    expect(results.map(({ index }) => index)).toEqual(rows.map((_, nth) => nth));
    expect(again).toBeLessThanOrEqual(lost);
    expect(micros / 1e6).toBeLessThanOrEqual((most ?? Number.POSITIVE_INFINITY) + lost * price);
    // Each lost answer counts under the cap, too, at its likely price; with a record, all but a request is spent.
    const counted = summary.costDollars + summary.unknownOutcomes * urlsPerRequest[operation] * price;
    expect(bought).toBeGreaterThanOrEqual(wanted / 4);
    if (record && most !== undefined) expect(counted).toBeGreaterThan(most - mostOfRequest[operation]);
    expect(summary.unknownOutcomes).toBeGreaterThanOrEqual(again / urlsPerRequest[operation]);
    if (!record) expect(summary.unknownOutcomes).toBeLessThanOrEqual(2 * inFlight);
    if (most === undefined) expect(bought).toBe(count);
    expect(results.filter(({ error }) => error !== null && error.tag !== 'BudgetExceeded')).toEqual([]);
  },
  600_000,
);
