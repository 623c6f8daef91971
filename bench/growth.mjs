// Time, CPU, memory, disk, Temporal actions and history for ten times as many rows or events, twice: nothing grows faster than linearly.
// A worker with the plugin runs the jobs, without a rate limit, each on a sandbox of its own.
//   npm run bench -- growth [--sizes 10000,100000,1000000] [--only rows,events] [--into postgres]
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { writeRows } from './measure.mjs';
import { eventsOf, hostOf, pluginJob, sumOf } from './plugin-job.mjs';
import { bar, row } from './results.mjs';

const LIMIT = 10_000;
/** How much more a row may cost at ten times as many rows. */
const MARGIN = 1.2;

const kinds = {
  rows: (count, into) => ({
    sandbox: {},
    hosts: hostOf(into),
    start: async (dir) => {
      await writeRows(join(dir, 'rows.csv'), count);
      return ['enrichCsv', { input: 'rows.csv', into, options: { text: true } }];
    },
  }),
  events: eventsOf,
};

/** Size in MB of the files of a folder. */
const sizeOf = (dir) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size / 1e6, 0);

async function measure(kind, count, into) {
  const look = async (dir, handle) => ({ disk: sizeOf(dir), history: (await handle.describe()).historyLength });
  const { seconds, cpu, peakMb, disk, actions, history } = await pluginJob({
    qps: LIMIT,
    look,
    ...kinds[kind](count, into),
  });
  return {
    ...{ seconds, 'CPU s': cpu, 'peak MB': peakMb, 'disk MB': disk },
    ...{ actions: sumOf(actions), 'events of the last history': history },
  };
}

export const defaults = { sizes: '10000,100000,1000000', only: 'rows,events', into: 'duckdb' };

/** The warehouse of each job. */
async function warehouses(into) {
  if (into !== 'postgres') return { of: async () => 'out.duckdb', stop: async () => undefined };
  const { startPostgres } = await import('../test/support/postgres-server.mjs');
  const server = await startPostgres({ flags: ['fsync=on'] });
  const of = async (kind, count) => {
    const address = new URL(await server.database(`${kind}_${count}`));
    // The input of a workflow has no login, so the worker gets it from the environment.
    Object.assign(process.env, { PGUSER: address.username, PGPASSWORD: address.password });
    Object.assign(address, { username: '', password: '' });
    return address.href;
  };
  return { of, stop: () => server.stop() };
}

export async function run({ sizes, only, into }) {
  const targets = await warehouses(into);
  try {
    await compare({ sizes, only, targets });
  } finally {
    await targets.stop();
  }
}

async function compare({ sizes, only, targets }) {
  for (const kind of only.split(',')) {
    let last = null;
    for (const count of sizes.split(',').map(Number)) {
      const figures = await measure(kind, count, await targets.of(kind, count));
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
