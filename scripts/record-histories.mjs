// node scripts/record-histories.mjs [--to FOLDER] [STORY ...]: records the current workflows, on a real Temporal server and the sandbox, into
// <folder>/<version>-<name>-<run>.bin (protobuf, because the JSON form does not replay). Default folder: test/fixtures/histories, for each
// released version. A file that is there is never recorded again: running workflows were started by that version.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { createActivities } from '../dist/activities/index.js';
import { Secret } from '../dist/core/connections/secret.js';
import { startSandbox } from '../dist/sandbox/index.js';
import { openParts } from '../dist/worker/host/parts.js';
import { workerDefaults } from '../dist/worker/host/worker-options.js';
import { findTemporalBinary } from '../dist/worker/temporal-server/binary.js';
import { History, withoutStackTraces } from './history-proto.mjs';
import { historyStories } from './history-stories.mjs';
import { inRoot, textOf } from './root.mjs';

const { version } = JSON.parse(textOf(inRoot('package.json')));
const { values, positionals: asked } = parseArgs({ options: { to: { type: 'string' } }, allowPositionals: true });
const target = values.to ?? inRoot('test', 'fixtures', 'histories');
// No data of the recording machine.
const identity = 'recorder';
const say = (sentence) => process.stderr.write(`${sentence}\n`);

Runtime.install({ logger: new DefaultLogger('ERROR') });
const { path } = await findTemporalBinary({ env: process.env, say });
const extraArgs = ['--dynamic-config-value', 'limit.historyCount.suggestContinueAsNew=40'];
const temporal = await TestWorkflowEnvironment.createLocal({
  server: { executable: { type: 'existing-path', path }, extraArgs },
});
try {
  mkdirSync(target, { recursive: true });
  for (const story of historyStories)
    if ((asked.length === 0 || asked.includes(story.name)) && !isRecorded(story)) await record(story);
} finally {
  await temporal.teardown();
}

/** A history that is there is kept: running workflows may have begun with it. */
function isRecorded({ name }) {
  const file = join(target, `${version}-${name}-1.bin`);
  if (!existsSync(file)) return false;
  say(`${file} is there already. To record it again, remove it.`);
  return true;
}

async function record({ name, workflow, rows = 0, sandbox: options, alerts = null, args, before, meanwhile }) {
  const dir = mkdtempSync(join(tmpdir(), 'searchflow-history-'));
  const sandbox = await startSandbox({ textBytes: 100, ...options });
  const parts = await openParts({
    service: 'sandbox',
    origin: 'sandbox',
    baseUrl: sandbox.url,
    apiKey: new Secret('key-of-the-recorder'),
    stateDir: join(dir, 'state'),
    userStateDir: join(dir, 'user'),
    paths: [dir],
    rate: { qps: 1000 },
    concurrency: 4,
    alerts,
    say,
  });
  try {
    const [into, input, csv] = ['out.duckdb', 'rows.csv', 'out.csv'].map((file) => join(dir, file));
    const urls = Array.from({ length: rows }, (_, row) => `https://site-${row}.example/`);
    writeFileSync(input, `url\n${urls.join('\n')}\n`);
    const worker = await Worker.create({
      ...workerDefaults,
      workflowBundle: { codePath: inRoot('dist', 'worker', 'workflow-bundle.js') },
      connection: temporal.nativeConnection,
      identity,
      taskQueue: name,
      activities: createActivities(parts.deps),
    });
    await worker.runUntil(async () => {
      const call = (method, path, body) => callSandbox(sandbox.url, method, path, body);
      await before?.(call);
      const client = new Client({ connection: temporal.connection, identity });
      const handle = await client.workflow.start(workflow, {
        workflowId: `enrich-${name}`,
        taskQueue: name,
        args: args({ name, dir, into, input, csv }),
      });
      await meanwhile?.(handle, sandbox);
      await handle.result().catch((error) => say(`${name}: ${error.message}`));
      await write(client, name, handle.workflowId, handle.firstExecutionRunId);
    });
  } finally {
    await parts.close();
    await sandbox.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Calls the sandbox as another client of the service. */
async function callSandbox(url, method, path, body) {
  const headers = { 'x-api-key': 'key-of-the-recorder', 'content-type': 'application/json' };
  const response = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body ?? {}) });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** Writes the history of each run of a workflow, and of the children that it started. */
async function write(client, name, workflowId, firstRunId) {
  let runId = firstRunId;
  for (let run = 1; runId; run++) {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    const file = join(target, `${version}-${name}-${run}.bin`);
    writeFileSync(file, History.encode(withoutStackTraces(history)).finish());
    say(`${file}: ${history.events.length} events, ${readFileSync(file).length} bytes`);
    const children = history.events.map((event) => event.childWorkflowExecutionStartedEventAttributes).filter(Boolean);
    for (const { workflowExecution: child } of children)
      await write(client, `${name}-child`, child.workflowId, child.runId);
    runId = history.events.at(-1).workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
  }
}
