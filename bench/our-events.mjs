// One walk of a searchflow worker: node bench/our-events.mjs
// '{"url":…,"into":…,"address":…,"from":…,"until":…,"parallel":16,"qps":100000}'.
// Prints seconds from the start of the workflow to its end, and its summary.
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createActivities } from '../dist/activities/index.js';
import { Secret } from '../dist/core/connections/secret.js';
import { openParts } from '../dist/worker/host/parts.js';
import { workflowSource } from '../dist/worker/host/worker-host.js';
import { workerDefaults } from '../dist/worker/host/worker-options.js';

const options = JSON.parse(process.argv[2]);
const {
  url,
  into,
  address,
  parallel,
  qps = 100_000,
  stateDir = join(tmpdir(), `searchflow-bench-${process.pid}`),
} = options;
Runtime.install({
  logger: new DefaultLogger('WARN'),
  telemetryOptions: { logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } },
});
const config = {
  service: 'sandbox',
  origin: 'sandbox',
  baseUrl: url,
  apiKey: new Secret('bench'),
  stateDir,
  userStateDir: join(stateDir, 'user'),
  rate: { qps },
  rateIsShare: true,
  concurrency: 64,
  keepLandingMs: 86_400_000,
  keyQps: null,
  store: null,
  team: null,
  warehouse: null,
  paths: [dirname(into)],
  hosts: [],
  secretFile: null,
  wire: {},
  temporalAddress: address,
  namespace: 'default',
  taskQueue: `bench-${process.pid}`,
  say: () => undefined,
};
const connection = await NativeConnection.connect({ address });
const parts = await openParts(config);
const worker = await Worker.create({
  ...workerDefaults,
  ...workflowSource(),
  connection,
  taskQueue: config.taskQueue,
  activities: createActivities(parts.deps),
});
const ended = worker.run();
const client = new Client({ connection: await Connection.connect({ address }) });
const cpu = process.cpuUsage();
const started = performance.now();
const { from, until, sync = false } = options;
const summary = await client.workflow.execute(sync ? 'syncEvents' : 'backfillEvents', {
  taskQueue: config.taskQueue,
  workflowId: `bench-${process.pid}`,
  args: [sync ? { into, parallel } : { into, from, until, parallel }],
});
const seconds = (performance.now() - started) / 1000;
const used = process.cpuUsage(cpu);
worker.shutdown();
await ended;
await parts.close();
const peakMb = Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024;
console.log(JSON.stringify({ ...summary, seconds, cpu: (used.user + used.system) / 1e6, peakMb }));
process.exit(0);
