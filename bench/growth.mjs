// Time, CPU, memory, disk, Temporal actions and history for ten times as many rows or events, twice: nothing grows faster than linearly.
// A worker with the plugin runs the jobs, without a rate limit, each on a sandbox of its own.
//   npm run bench -- growth [--sizes 10000,100000,1000000] [--only rows,events]
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { writeRows } from './measure.mjs';
import { eventsOf, pluginJob, sumOf } from './plugin-job.mjs';
import { bar, row } from './results.mjs';

const LIMIT = 10_000;
/** How much more a row may cost at ten times as many rows. */
const MARGIN = 1.2;

const kinds = {
  rows: (count) => ({
    sandbox: { prebuilt: true },
    start: async (dir) => {
      await writeRows(join(dir, 'rows.csv'), count);
      return ['enrichCsv', { input: 'rows.csv', into: 'out.duckdb', options: { text: true } }];
    },
  }),
  events: eventsOf,
};

/** Size in MB of the files of a folder. */
const sizeOf = (dir) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size / 1e6, 0);

async function measure(kind, count) {
  const look = async (dir, handle) => ({ disk: sizeOf(dir), history: (await handle.describe()).historyLength });
  const { seconds, cpu, peakMb, disk, actions, history } = await pluginJob({ qps: LIMIT, look, ...kinds[kind](count) });
  return {
    ...{ seconds, 'CPU s': cpu, 'peak MB': peakMb, 'disk MB': disk },
    ...{ actions: sumOf(actions), 'events of the last history': history },
  };
}

export const defaults = { sizes: '10000,100000,1000000', only: 'rows,events' };

export async function run({ sizes, only }) {
  for (const kind of only.split(',')) {
    let last = null;
    for (const count of sizes.split(',').map(Number)) {
      const figures = await measure(kind, count);
      row({ job: kind, size: count, ...figures });
      for (const name of last ? Object.keys(figures) : []) {
        const growth = figures[name] / last.figures[name] / (count / last.count);
        bar(
          `${kind}: ${name}, growth per ${kind.slice(0, -1)} to ${count.toLocaleString('en-US')}`,
          growth,
          `<= ${MARGIN}`,
        );
      }
      last = { count, figures };
    }
  }
}
