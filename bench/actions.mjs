// Temporal actions per 1,000 rows or events, counted by the server, of a worker with the plugin that nobody watches.
//   npm run bench -- actions [--only contents,search,agent,events] [--qps 10]
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { bar, sandboxProcess, startScript, workFolder, writeRows } from './measure.mjs';
import { startTemporal } from './temporal.mjs';

const from = '2025-01-01T00:00:00.000Z';
const until = '2026-01-01T00:00:00.000Z';

const rowsOf = async (dir, rows) => {
  await writeRows(join(dir, 'rows.csv'), rows);
  return { input: 'rows.csv', into: 'out.duckdb' };
};

/** The measured jobs: the workflow, its input, the number of rows or events, and the bar per 1,000 of them. */
const shapes = {
  contents: {
    number: 10_000,
    most: 6,
    sandbox: {},
    start: async (dir) => ['enrichCsv', { ...(await rowsOf(dir, 10_000)), options: { text: true } }],
  },
  search: {
    number: 1000,
    most: 60,
    sandbox: {},
    start: async (dir) => [
      'enrichCsv',
      { ...(await rowsOf(dir, 1000)), operation: 'search', template: { query: '{{name}}' } },
    ],
  },
  agent: {
    number: 1000,
    most: 300,
    sandbox: { agentRuns: { durationMs: { min: 18_000, max: 22_000 } } },
    start: async (dir) => ['runAgentRows', { ...(await rowsOf(dir, 1000)), query: 'CEO of {{name}}', effort: 'low' }],
  },
  events: {
    number: 100_000,
    most: 2,
    sandbox: { events: { count: 100_000, from, to: until, order: 'newest' } },
    start: async () => ['backfillEvents', { into: 'out.duckdb', from, until }],
  },
};

async function measure(name, qps) {
  const { number, most, sandbox: more, start } = shapes[name];
  const { dir, remove } = workFolder();
  const temporal = await startTemporal(dir);
  const sandbox = await sandboxProcess({ qps, latencyMs: 300, retryAfter: 'none', logEntries: 1000, ...more });
  const worker = await startScript('bench/plugin-worker.mjs', {
    address: temporal.address,
    url: sandbox.url,
    dir,
    qps,
  });
  try {
    const [workflow, input] = await start(dir);
    await delay(1000);
    const before = await temporal.actions();
    const begun = performance.now();
    const handle = await temporal.client.workflow.start(workflow, {
      workflowId: `bench-${name}`,
      taskQueue: 'bench',
      args: [input],
    });
    await handle.result();
    const seconds = (performance.now() - begun) / 1000;
    // The server counts some actions a moment later.
    await delay(1000);
    const after = await temporal.actions();
    const kinds = Object.keys(after)
      .map((type) => [type, after[type] - (before[type] ?? 0)])
      .filter(([, count]) => count > 0)
      .sort((a, b) => b[1] - a[1]);
    const all = kinds.reduce((sum, [, count]) => sum + count, 0);
    console.log(`${name}: ${seconds.toFixed(0)} s; ${kinds.map(([type, count]) => `${type} ${count}`).join(', ')}`);
    return bar(`${name}: actions per 1,000`, (all * 1000) / number, (value) => value <= most, `<= ${most}`);
  } finally {
    await worker.stop();
    await sandbox.stop();
    await temporal.stop();
    remove();
  }
}

export async function run({ only = Object.keys(shapes).join(','), qps = 10 }) {
  const met = [];
  for (const name of only.split(',')) met.push(await measure(name, Number(qps)));
  return met.every(Boolean);
}
