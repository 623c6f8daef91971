// Temporal actions per 1,000 rows or events, counted by the server, of a worker with the plugin and without watchers.
//   npm run bench -- actions [--only contents,search,agent,events] [--qps 10]
import { join } from 'node:path';
import { writeRows } from './measure.mjs';
import { eventsOf, pluginJob, sumOf } from './plugin-job.mjs';
import { bar, row } from './results.mjs';

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
  events: { number: 100_000, most: 2, ...eventsOf(100_000) },
};

async function measure(name, qps) {
  const { number, most, sandbox, start } = shapes[name];
  const limited = { qps, latencyMs: 300, retryAfter: 'none', ...sandbox };
  const { seconds, actions } = await pluginJob({ sandbox: limited, qps, start });
  const kinds = actions.toSorted((a, b) => b[1] - a[1]).map(([type, count]) => `${type} ${count}`);
  console.log(`${name}: ${seconds.toFixed(0)} s; ${kinds.join(', ')}`);
  const per1000 = (sum) => (sum * 1000) / number;
  const heartbeats = sumOf(actions.filter(([type]) => /heartbeat/i.test(type)));
  row({
    job: name,
    'rows or events': number,
    'actions per 1,000': per1000(sumOf(actions)),
    'of these, heartbeats': per1000(heartbeats),
  });
  bar(`${name}: actions per 1,000`, per1000(sumOf(actions)), `<= ${most}`);
}

export const defaults = { only: Object.keys(shapes).join(','), qps: 10 };

export async function run({ only, qps }) {
  for (const name of only.split(',')) await measure(name, qps);
}
