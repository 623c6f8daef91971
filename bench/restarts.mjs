// Part of the rate limit that a team's workers use while each is restarted in turn, as a rolling deployment does. The service's own log is the
// judge. No row may be lost, and none bought twice.
//   npm run bench -- restarts [--seconds 600] [--every 20] [--workers 3] [--qps 10] [--signal SIGTERM]
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startPostgres } from '../test/support/postgres-server.mjs';
import { command, sandboxProcess, workFolder, writeRows } from './measure.mjs';
import { startTemporal } from './plugin-job.mjs';
import { bar } from './results.mjs';

export const defaults = { seconds: 600, every: 20, workers: 3, qps: 10, signal: 'SIGTERM' };

/** Starts a command; returns its child process, what it has said, and its end. */
function start(dir, env, args) {
  const child = spawn(process.execPath, [command, ...args], { cwd: dir, env: { ...process.env, ...env } });
  const running = { child, said: '' };
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      running.said = (running.said + data).slice(-10_000);
    });
  running.ended = new Promise((resolve) => child.once('close', resolve));
  return running;
}

async function ready(running) {
  while (!running.said.includes('Worker running')) {
    if (running.child.exitCode !== null) throw new Error(`A worker did not start:\n${running.said}`);
    await delay(50);
  }
}

async function rowsOf(warehouse) {
  const client = new pg.Client({ connectionString: warehouse });
  await client.connect();
  try {
    const { rows } = await client.query(
      `SELECT count(*)::int AS rows FROM searchflow.enriched_rows WHERE status = 'success'`,
    );
    return rows[0].rows;
  } finally {
    await client.end();
  }
}

export async function run({ seconds, every, workers, qps, signal }) {
  const { dir, remove } = workFolder();
  const [temporal, postgres] = [await startTemporal(dir), await startPostgres({ flags: ['fsync=on'] })];
  const sandbox = await sandboxProcess({
    qps,
    latencyMs: 300,
    retryAfter: 'none',
    failureRate: 0,
    logEntries: 1_000_000,
  });
  const warehouse = await postgres.database('warehouse');
  const env = {
    ...{ SEARCHFLOW_API_KEY: 'bench-key', SEARCHFLOW_BASE_URL: sandbox.url, SEARCHFLOW_QPS: String(qps) },
    ...{ SEARCHFLOW_STORE: await postgres.database('store'), SEARCHFLOW_WAREHOUSE_URL: warehouse },
    ...{ TEMPORAL_ADDRESS: temporal.address, SEARCHFLOW_TASK_QUEUE: 'bench', XDG_STATE_HOME: join(dir, 'user') },
  };
  const startWorker = async (nth) => {
    const state = join(dir, `state-${nth}`);
    mkdirSync(state, { recursive: true });
    const worker = start(dir, { ...env, SEARCHFLOW_STATE_DIR: state }, ['worker']);
    await ready(worker);
    return worker;
  };
  const team = [];
  for (let nth = 0; nth < workers; nth++) team.push(await startWorker(nth));
  const rows = qps * (seconds + 5);
  await writeRows(join(dir, 'rows.csv'), rows);
  const state = { SEARCHFLOW_STATE_DIR: join(dir, 'state-0') };
  const job = start(dir, { ...env, ...state }, ['enrich', 'rows.csv', '--job', 'bench', '--batch', '1', '--yes']);
  const restarts = [];
  try {
    const log = () => sandbox.get('log');
    while ((await log()).length === 0) {
      if (job.child.exitCode !== null) throw new Error(`The job did not start:\n${job.said}`);
      await delay(100);
    }
    let isOver = false;
    const end = job.ended.finally(() => {
      isOver = true;
    });
    for (let nth = 0; !isOver; nth = (nth + 1) % workers) {
      await Promise.race([delay(every * 1000), end]);
      if (isOver) break;
      const from = Date.now() - sandbox.startedAt;
      team[nth].child.kill(signal);
      await team[nth].ended;
      const stopped = Date.now() - sandbox.startedAt;
      team[nth] = await startWorker(nth);
      restarts.push({ from, stopped, until: Date.now() - sandbox.startedAt });
    }
    if ((await end) !== 0) throw new Error(`The job failed:\n${job.said}`);
    judge({ log: await log(), restarts, qps, seconds });
    const bought = Object.values((await sandbox.get('bill')).keys);
    bar('rows bought twice', bought.filter((times) => times > 1).length, '= 0');
    bar('rows lost', rows - (await rowsOf(warehouse)), '= 0');
  } finally {
    job.child.kill('SIGKILL');
    for (const { child } of team) child.kill('SIGTERM');
    await Promise.all(team.map(({ ended }) => ended));
    await sandbox.stop();
    await temporal.stop();
    await postgres.stop();
    remove();
  }
}

function judge({ log, restarts, qps, seconds }) {
  const first = Math.min(...log.slice(0, 100).map(({ at }) => at)) + 2000;
  const last = first + (seconds - 10) * 1000;
  const usedIn = (from, until) =>
    log.filter(({ at, status }) => status === 200 && at >= from && at < until).length / ((qps * (until - from)) / 1000);
  const lasted = restarts.map(({ from, until }) => until - from).toSorted((a, b) => a - b);
  const stops = restarts.map(({ from, stopped }) => stopped - from).toSorted((a, b) => a - b);
  const middle = (times) => (times[Math.floor(times.length / 2)] / 1000).toFixed(1);
  console.log(
    `${restarts.length} restarts, each ${middle(lasted)} s (of these ${middle(stops)} s to stop); ` +
      `${log.filter(({ limited }) => limited).length} of ${log.length} requests refused`,
  );
  for (const { from, until } of restarts)
    console.log(`restart at ${(from / 1000).toFixed(0)} s: ${usedIn(from, until).toFixed(3)} used`);
  bar(`${qps}/s: part of the limit used, restarts included`, usedIn(first, last), '>= 0.97');
  const between = [];
  let from = first;
  for (const restart of [...restarts, { from: last }]) {
    if (restart.from > from && restart.from <= last) between.push([from, restart.from]);
    from = Math.max(from, restart.until);
  }
  const time = between.reduce((sum, [start, stop]) => sum + stop - start, 0);
  const used = between.reduce((sum, [start, stop]) => sum + usedIn(start, stop) * (stop - start), 0) / time;
  bar(`${qps}/s: part of the limit used between restarts`, used, '>= 0.97');
}
