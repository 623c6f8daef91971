// Time, CPU, memory, disk, Temporal actions and history for ten times as many rows or events, twice: nothing grows faster than linearly.
// A worker with the plugin runs the jobs, without a rate limit, on one sandbox.
//   npm run bench -- growth [--sizes 10000,100000,1000000] [--only rows,events]
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { bar, sandboxProcess, startScript, watch, workFolder, writeRows } from './measure.mjs';
import { startTemporal } from './temporal.mjs';

const from = '2025-01-01T00:00:00.000Z';
const until = '2026-01-01T00:00:00.000Z';
const LIMIT = 10_000;
/** How much more a row may cost at ten times as many rows. */
const MARGIN = 1.2;

const kinds = {
  rows: {
    sandbox: () => ({ prebuilt: true }),
    start: async (dir, count) => {
      await writeRows(join(dir, 'rows.csv'), count);
      return ['enrichCsv', { input: 'rows.csv', into: 'out.duckdb', options: { text: true } }];
    },
  },
  events: {
    sandbox: (count) => ({ events: { count, from, to: until, order: 'newest' } }),
    start: async () => ['backfillEvents', { into: 'out.duckdb', from, until }],
  },
};

/** Size in MB of the files of a folder. */
const sizeOf = (dir) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size / 1e6, 0);

async function measure(kind, count) {
  const { dir, remove } = workFolder();
  const temporal = await startTemporal(dir);
  const sandbox = await sandboxProcess({ logEntries: 1000, ...kinds[kind].sandbox(count) });
  const [workflow, input] = await kinds[kind].start(dir, count);
  const options = { address: temporal.address, url: sandbox.url, dir, qps: LIMIT };
  const worker = await startScript('bench/plugin-worker.mjs', options);
  const watched = watch(worker.pid);
  try {
    const cpuBefore = watched.seen.cpu;
    const before = sumOf(await temporal.actions());
    const begun = performance.now();
    const workflowId = `bench-${kind}-${count}`;
    const handle = await temporal.client.workflow.start(workflow, { workflowId, taskQueue: 'bench', args: [input] });
    await handle.result();
    const seconds = (performance.now() - begun) / 1000;
    const { historyLength } = await temporal.client.workflow.getHandle(workflowId).describe();
    return {
      seconds,
      'CPU s': watched.seen.cpu - cpuBefore,
      'peak MB': watched.seen.peakMb,
      'disk MB': sizeOf(dir),
      actions: sumOf(await temporal.actions()) - before,
      'events of the last history': historyLength,
    };
  } finally {
    watched.stop();
    await worker.stop();
    await sandbox.stop();
    await temporal.stop();
    remove();
  }
}

const sumOf = (actions) => Object.values(actions).reduce((sum, count) => sum + count, 0);

export async function run({ sizes = '10000,100000,1000000', only = 'rows,events' }) {
  const met = [];
  for (const kind of only.split(',')) {
    let last = null;
    for (const count of sizes.split(',').map(Number)) {
      const figures = await measure(kind, count);
      const shown = Object.entries(figures).map(([name, value]) => `${name} ${value.toFixed(1)}`);
      console.log(`${count} ${kind}: ${shown.join(', ')}`);
      for (const name of last ? Object.keys(figures) : []) {
        const growth = figures[name] / last.figures[name] / (count / last.count);
        met.push(
          bar(`${kind}: ${name}, growth per row to ${count}`, growth, (value) => value <= MARGIN, `<= ${MARGIN}`),
        );
      }
      last = { count, figures };
    }
  }
  return met.every(Boolean);
}
