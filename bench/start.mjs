// `searchflow enrich` with 50 rows on a new state folder: seconds to the first request and to the end. The first run only fills the file
// cache.
import { join } from 'node:path';
import { enrichArgs, enrichEnv } from './enrich.mjs';
import { medians, sandboxProcess, timed, workFolder, writeRows } from './measure.mjs';
import { row } from './results.mjs';

export const defaults = { rows: 50, runs: 5 };

export async function run({ rows, runs }) {
  const { dir, remove } = workFolder();
  const csv = join(dir, 'rows.csv');
  await writeRows(csv, rows);
  const found = [];
  try {
    for (let turn = 0; turn <= runs; turn++) {
      const sandbox = await sandboxProcess({});
      const state = join(dir, `turn-${turn}`);
      // The log counts from the start of the sandbox: this request marks the start of the command.
      await fetch(`${sandbox.url}/websets/v0/events?limit=1`, { headers: { 'x-api-key': 'start' } });
      const args = enrichArgs(csv, 'start', join(state, 'start.duckdb'));
      const { seconds, cpu } = await timed(args, { cwd: dir, env: enrichEnv(sandbox.url, state) });
      const [mark, first] = await sandbox.get('log');
      await sandbox.stop();
      if (turn > 0) found.push({ 'first request, s': (first.at - mark.at) / 1000, 'end, s': seconds, 'CPU s': cpu });
    }
    row({ rows, ...medians(found) });
  } finally {
    remove();
  }
}
