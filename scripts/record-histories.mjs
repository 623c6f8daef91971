// node scripts/record-histories.mjs: records the current workflows, on a real Temporal server and the sandbox, into
// test/fixtures/histories/<version>-<name>.bin (protobuf, because the JSON form does not replay). Files of a released version are
// never recorded again: running workflows were started by that version, and every later version must replay them.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { createActivities } from '../dist/activities/index.js';
import { Secret } from '../dist/core/connections/secret.js';
import { startSandbox } from '../dist/sandbox/index.js';
import { openParts } from '../dist/worker/host/parts.js';
import { workerDefaults } from '../dist/worker/host/worker-host.js';
import { findTemporalBinary } from '../dist/worker/temporal-server/temporal-binary.js';
import { History, withoutStackTraces } from './history-proto.mjs';
import { inRoot, textOf } from './root.mjs';

const { version } = JSON.parse(textOf(inRoot('package.json')));
const target = inRoot('test', 'fixtures', 'histories');
// No data of the recording machine.
const identity = 'recorder';
const stretch = { from: '2025-01-01T00:00:00.000Z', to: '2025-02-01T00:00:00.000Z' };
const say = (sentence) => process.stderr.write(`${sentence}\n`);

/** Faults and controls of a job or a walk while it runs. Names as arguments: only these are recorded. */
const stories = [
  { name: 'done', rows: 60 },
  { name: 'continued-as-new', rows: 240 },
  {
    name: 'refused-and-resumed',
    rows: 60,
    faults: [{ when: { nth: 3 }, do: { kind: 'status', status: 401, tag: 'INVALID_API_KEY' } }],
    meanwhile: async (handle) => {
      await until(async () => (await handle.query('progress')).phase === 'paused');
      await handle.signal('resume');
    },
  },
  {
    name: 'paused-and-resumed',
    rows: 60,
    latencyMs: 100,
    meanwhile: async (handle, sandbox) => {
      await until(() => sandbox.log().length > 1);
      await handle.signal('pause');
      await until(async () => (await handle.query('progress')).phase === 'paused');
      await handle.signal('resume');
    },
  },
  {
    name: 'out-of-budget-and-raised',
    rows: 60,
    latencyMs: 50,
    input: { maxCostDollars: 0.025 },
    meanwhile: async (handle) => {
      await until(async () => (await handle.query('progress')).pausedFor === 'budget');
      await handle.signal('resume', { maxCostDollars: 5 });
      await until(async () => (await handle.query('progress')).pausedFor === null);
      await handle.signal('resume', { maxCostDollars: 'none' });
    },
  },
  { name: 'scheduled-and-stopped', rows: 60, input: { scheduled: true, maxCostDollars: 0.025 } },
  {
    name: 'cancelled',
    rows: 60,
    latencyMs: 100,
    meanwhile: async (handle, sandbox) => {
      await until(() => sandbox.log().length > 1);
      await handle.cancel();
    },
  },
  { name: 'events-synced', workflow: 'syncEvents', events: 1000 },
  { name: 'events-backfilled', workflow: 'backfillEvents', events: 60_000, input: { parallel: 2 } },
  {
    name: 'events-refused-and-resumed',
    workflow: 'syncEvents',
    events: 1000,
    faults: [{ when: { nth: 3 }, do: { kind: 'status', status: 401, tag: 'INVALID_API_KEY' } }],
    meanwhile: async (handle) => {
      await until(async () => (await handle.query('progress')).phase === 'paused');
      await handle.signal('resume');
    },
  },
];

async function until(met) {
  while (!(await met())) await new Promise((resolve) => setTimeout(resolve, 10));
}

Runtime.install({ logger: new DefaultLogger('ERROR') });
const { path } = await findTemporalBinary({ env: process.env, say });
const extraArgs = ['--dynamic-config-value', 'limit.historyCount.suggestContinueAsNew=40'];
const temporal = await TestWorkflowEnvironment.createLocal({
  server: { executable: { type: 'existing-path', path }, extraArgs },
});
try {
  mkdirSync(target, { recursive: true });
  const asked = process.argv.slice(2);
  for (const story of stories) if (asked.length === 0 || asked.includes(story.name)) await record(story);
} finally {
  await temporal.teardown();
}

async function record({ name, rows, input: more = {}, workflow, events, faults = [], latencyMs = 0, meanwhile }) {
  const dir = mkdtempSync(join(tmpdir(), 'searchflow-history-'));
  const sandbox = await startSandbox({
    latencyMs,
    faults,
    textBytes: 100,
    ...(events ? { events: { ...stretch, count: events } } : {}),
  });
  const parts = await openParts({
    service: 'sandbox',
    origin: 'sandbox',
    baseUrl: sandbox.url,
    apiKey: new Secret('key-of-the-recorder'),
    stateDir: join(dir, 'state'),
    userStateDir: join(dir, 'user'),
    rate: { qps: 1000 },
    concurrency: 4,
    say,
  });
  try {
    const into = join(dir, 'out.duckdb');
    const input = join(dir, 'rows.csv');
    writeFileSync(
      input,
      `url\n${Array.from({ length: rows ?? 0 }, (_, row) => `https://site-${row}.example/`).join('\n')}\n`,
    );
    const worker = await Worker.create({
      ...workerDefaults,
      workflowBundle: { codePath: inRoot('dist', 'worker', 'workflow-bundle.js') },
      connection: temporal.nativeConnection,
      identity,
      taskQueue: name,
      activities: createActivities(parts.deps),
    });
    await worker.runUntil(() => {
      const asked = workflow
        ? { into, ...(workflow === 'backfillEvents' ? { from: stretch.from, until: stretch.to } : {}), ...more }
        : { input, ...more, urlColumn: 'url', into, csv: join(dir, 'out.csv'), batch: 10 };
      return follow(name, workflow ?? 'enrichCsv', asked, sandbox, meanwhile);
    });
  } finally {
    await parts.close();
    await sandbox.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function follow(name, workflow, asked, sandbox, meanwhile) {
  const client = new Client({ connection: temporal.connection, identity });
  const handle = await client.workflow.start(workflow, {
    workflowId: `enrich-${name}`,
    taskQueue: name,
    args: [asked],
  });
  await meanwhile?.(handle, sandbox);
  await handle.result().catch((error) => say(`${name}: ${error.message}`));
  let runId = handle.firstExecutionRunId;
  for (let run = 1; runId; run++) {
    const history = await client.workflow.getHandle(handle.workflowId, runId).fetchHistory();
    const file = join(target, `${version}-${name}-${run}.bin`);
    writeFileSync(file, History.encode(withoutStackTraces(history)).finish());
    say(`${file}: ${history.events.length} events, ${readFileSync(file).length} bytes`);
    runId = history.events.at(-1).workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
  }
}
