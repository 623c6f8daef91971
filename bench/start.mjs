// `searchflow enrich` with 50 rows on a new state folder: seconds to the first request and to the end. Then commands that run no job, beside
// an empty Node program. The first run of each only fills the file cache.
import { join } from 'node:path';
import { enrichArgs, enrichEnv } from './enrich.mjs';
import { command, medians, sandboxProcess, timed, workFolder, writeRows } from './measure.mjs';
import { bar, row } from './results.mjs';

export const defaults = { rows: 50, runs: 5 };

/** Medians of these runs of a program without a job. */
async function light(args, runs, options) {
  const found = [];
  for (let turn = 0; turn <= runs; turn++) found.push(await timed(args, options));
  return medians(found.slice(1));
}

export async function run({ rows, runs }) {
  const { dir, remove } = workFolder();
  const csv = join(dir, 'rows.csv');
  await writeRows(csv, rows);
  const found = [];
  try {
    for (let turn = 0; turn <= runs; turn++) {
      const sandbox = await sandboxProcess({});
      const state = join(dir, `turn-${turn}`);
      const args = enrichArgs(csv, 'start', join(state, 'start.duckdb'));
      const { startedAt, seconds, cpu } = await timed(args, { cwd: dir, env: enrichEnv(sandbox.url, state) });
      const [first] = await sandbox.get('log');
      await sandbox.stop();
      const firstSeconds = (sandbox.startedAt + first.at - startedAt) / 1000;
      if (turn > 0) found.push({ 'first request, s': firstSeconds, 'end, s': seconds, 'CPU s': cpu });
    }
    const start = medians(found);
    const options = { cwd: dir, env: enrichEnv('http://127.0.0.1:1', join(dir, 'turn-0')) };
    const empty = await light(['-e', '0'], 2 * runs, options);
    const help = await light([command, '--help'], 2 * runs, options);
    const jobs = await light([command, 'jobs'], runs, options);
    row({ command: `enrich, ${rows} rows`, ...start });
    for (const [name, { seconds, cpu }] of Object.entries({ 'node -e 0': empty, '--help': help, jobs }))
      row({ command: name, 'first request, s': '–', 'end, s': seconds, 'CPU s': cpu });
    bar('enrich: first request, s', start['first request, s'], '<= 1.5');
    bar('--help / node -e 0, seconds', help.seconds / empty.seconds, '<= 1.7');
    bar('jobs: CPU s', jobs.cpu, '<= 0.5');
  } finally {
    remove();
  }
}
