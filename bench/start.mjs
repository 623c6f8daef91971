// `searchflow enrich` with 50 rows on a new state folder: seconds to the first request and to the end. Then commands that run no job, beside
// an empty Node program. The first run of each only fills the file cache. More runs with V8's profiler show the CPU of loading modules.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { enrichArgs, enrichEnv } from './enrich.mjs';
import { command, median, medians, sandboxProcess, timed, workFolder, writeRows } from './measure.mjs';
import { bar, row } from './results.mjs';

export const defaults = { rows: 50, runs: 5 };

/** Medians of these runs of a program without a job. */
async function light(args, runs, options) {
  const found = [];
  for (let turn = 0; turn <= runs; turn++) found.push(await timed(args, options));
  return medians(found.slice(1));
}

/** CPU seconds of loading modules in all threads of a program, from the profiles in this folder; collection of garbage is left out. */
function moduleCpu(dir) {
  const profiles = readdirSync(dir).map((file) => JSON.parse(readFileSync(join(dir, file), 'utf8')));
  return profiles.reduce((sum, { nodes, samples, timeDeltas }) => {
    const loading = new Set();
    // Parents come before their children.
    for (const { id, callFrame, children = [] } of nodes) {
      if (callFrame.url.startsWith('node:internal/modules/')) loading.add(id);
      if (loading.has(id)) for (const child of children) loading.add(child);
    }
    return sum + samples.reduce((micros, id, nth) => micros + (loading.has(id) ? timeDeltas[nth] : 0), 0) / 1e6;
  }, 0);
}

/** Runs the job once on a new state folder, with these flags of Node; returns also the seconds to its first request. */
async function startJob(csv, dir, state, flags = []) {
  const sandbox = await sandboxProcess({});
  const args = enrichArgs(csv, 'start', join(state, 'start.duckdb'));
  const timing = await timed([...flags, ...args], { cwd: dir, env: enrichEnv(sandbox.url, state) });
  const [first] = await sandbox.get('log');
  await sandbox.stop();
  return { ...timing, firstSeconds: (sandbox.startedAt + first.at - timing.startedAt) / 1000 };
}

export async function run({ rows, runs }) {
  const { dir, remove } = workFolder();
  const csv = join(dir, 'rows.csv');
  await writeRows(csv, rows);
  const found = [];
  try {
    for (let turn = 0; turn <= runs; turn++) {
      const { firstSeconds, seconds, cpu } = await startJob(csv, dir, join(dir, `turn-${turn}`));
      if (turn > 0) found.push({ 'first request, s': firstSeconds, 'end, s': seconds, 'CPU s': cpu });
    }
    const start = medians(found);
    const modules = [];
    for (let turn = 0; turn < runs; turn++) {
      const profiles = join(dir, `profiles-${turn}`);
      await startJob(csv, dir, join(dir, `profiled-${turn}`), ['--cpu-prof', `--cpu-prof-dir=${profiles}`]);
      modules.push(moduleCpu(profiles));
    }
    const options = { cwd: dir, env: enrichEnv('http://127.0.0.1:1', join(dir, 'turn-0')) };
    const empty = await light(['-e', '0'], 2 * runs, options);
    const help = await light([command, '--help'], 2 * runs, options);
    const jobs = await light([command, 'jobs'], runs, options);
    row({ command: `enrich, ${rows} rows`, ...start });
    for (const [name, { seconds, cpu }] of Object.entries({ 'node -e 0': empty, '--help': help, jobs }))
      row({ command: name, 'first request, s': '–', 'end, s': seconds, 'CPU s': cpu });
    bar('enrich: first request, s', start['first request, s'], '<= 1.5');
    bar('enrich: CPU s for modules, all threads', median(modules), '<= 0.8');
    bar('--help / node -e 0, seconds', help.seconds / empty.seconds, '<= 1.7');
    bar('jobs: CPU s', jobs.cpu, '<= 0.5');
  } finally {
    remove();
  }
}
