// node jobs.mjs, in a folder of a project with searchflow: imports every entry, and runs every workflow in a worker of its own, on the
// sandbox and the Temporal server at TEMPORAL_ADDRESS. Prints all results as JSON.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { startSandbox } from 'searchflow/sandbox';
import { SearchflowPlugin } from 'searchflow/worker';

const { exports } = JSON.parse(readFileSync(createRequire(import.meta.url).resolve('searchflow/package.json'), 'utf8'));
for (const entry of Object.keys(exports)) if (!entry.endsWith('.json')) await import(`searchflow${entry.slice(1)}`);
const taskQueue = `sdk-${process.pid}`;
const sandbox = await startSandbox({ failureRate: 0, textBytes: 100 });
writeFileSync('rows.csv', 'name,url\nAcme,https://acme.example/\nBeta,https://beta.example/\n');
writeFileSync('workflows.js', "export * from 'searchflow/workflows';\n");

const monitors = { name: 'daily' };
const into = 'out/jobs.duckdb';
const rows = { input: 'rows.csv', into };
const definition = {
  name: 'daily',
  search: { query: 'launches' },
  trigger: { type: 'interval', period: '1d' },
  webhook: { url: 'https://hooks.example/launches' },
};
/** The jobs run in this order, because a batch needs a monitor. */
const jobs = {
  enrichCsv: [{ ...rows, urlColumn: 'url', csv: 'out/jobs.csv' }],
  enrichRows: [{ rows: [{ url: 'https://acme.example/' }], urlField: 'url' }],
  runAgentRows: [{ ...rows, query: 'Who leads {{name}}?', effort: 'low' }],
  runAgent: [{ query: 'Who leads Acme?', effort: 'low' }, { maxCostDollars: 1 }],
  runResearch: [{ input: { instructions: 'Who leads Acme?' } }, {}],
  syncEvents: [{ into: 'out/events.duckdb' }],
  backfillEvents: [{ into: 'out/events.duckdb', from: '2025-01-01', until: '2025-02-01' }],
  createMonitor: [{ definition, secretFile: 'out/secrets.json' }],
  monitorCall: [{ operation: 'listMonitors', input: {} }],
  batchMonitors: [{ action: 'pause', filter: monitors, into: 'out/monitors.duckdb' }],
  exportMonitorRuns: [{ into: 'out/monitors.duckdb' }],
  syncAgentRuns: [{ into: 'out/agent-runs.duckdb' }],
  scheduledJob: [
    {
      schedule: 's',
      workflow: 'enrichCsv',
      workflowId: `scheduled-${process.pid}`,
      input: { ...rows, job: 'scheduled' },
    },
  ],
};

const connection = await NativeConnection.connect({ address: process.env.TEMPORAL_ADDRESS });
const worker = await Worker.create({
  connection,
  taskQueue,
  workflowsPath: resolve('workflows.js'),
  plugins: [
    new SearchflowPlugin({ apiKey: 'test', baseUrl: sandbox.url, origin: 'sandbox', stateDir: 'state', qps: 100 }),
  ],
});
const clientConnection = await Connection.connect({ address: process.env.TEMPORAL_ADDRESS });
const client = new Client({ connection: clientConnection });
const results = {};
await worker.runUntil(async () => {
  for (const [workflow, args] of Object.entries(jobs)) {
    const options = {
      taskQueue,
      workflowId: `${workflow}-${process.pid}`,
      args,
      workflowExecutionTimeout: '2 minutes',
    };
    results[workflow] = await client.workflow.execute(workflow, options).then(
      (result) => ({ result }),
      (error) => ({ error: String(error.cause?.cause?.message ?? error.cause?.message ?? error.message) }),
    );
  }
});
await clientConnection.close();
await connection.close();
await sandbox.close();
console.log(JSON.stringify(results));
