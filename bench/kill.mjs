// SIGKILL of everything at random, again and again, over one job; judged by the service's purchase book and by SQL.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { enrichEnv } from './enrich.mjs';
import { runShared } from './kill-shared.mjs';
import { command, sandboxProcess, workFolder, writeRows } from './measure.mjs';

/** Processes of this run: its state directory is in the command's environment, and among the arguments of server and watcher. */
function processesOf(dir) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        const read = (file) => readFileSync(`/proc/${pid}/${file}`, 'utf8');
        return read('environ').includes(`SEARCHFLOW_STATE_DIR=${dir}`) || read('cmdline').includes(dir);
      } catch {
        return false;
      }
    })
    .map(Number);
}

const faults = [
  { when: { probability: 0.01, seed: 1 }, do: { kind: 'reset', moment: 'before' } },
  { when: { probability: 0.01, seed: 2 }, do: { kind: 'reset', moment: 'after' } },
  { when: { probability: 0.01, seed: 3 }, do: { kind: 'status', status: 500 } },
  { when: { probability: 0.01, seed: 4 }, do: { kind: 'truncate', fraction: 0.5 } },
];

/** `--store postgres`: several workers on one store, see kill-shared.mjs. */
export async function run({ store, ...options }) {
  if (store === undefined) return runAlone(options);
  if (store !== 'postgres') throw new Error(`--store ${store}: there is postgres only`);
  return runShared(options, faults);
}

async function runAlone({ rows = 100_000, kills = 20, qps = 50, seed = 1, maxGap = 9 }) {
  const { dir, remove } = workFolder();
  let random = Number(seed);
  const next = () => {
    random = (random * 48271) % 2147483647;
    return random / 2147483647;
  };
  const sandbox = await sandboxProcess({
    latencyMs: 200,
    qps: Number(qps),
    retryAfter: 'seconds',
    faults,
  });
  const state = join(dir, 'state');
  const env = { ...process.env, ...enrichEnv(sandbox.url, dir) };
  try {
    const csv = join(dir, 'rows.csv');
    await writeRows(csv, Number(rows));
    const args = [
      command,
      'enrich',
      csv,
      '--into',
      join(dir, 'out.duckdb'),
      '--csv',
      join(dir, 'out.csv'),
      '--qps',
      String(qps),
      '--json',
    ];
    let done = false;
    let killed = 0;
    let inFlight = 0;
    while (!done) {
      const child = spawn(process.execPath, args, { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
      let out = '';
      let err = '';
      child.stdout.on('data', (data) => (out += data));
      child.stderr.on('data', (data) => (err += data));
      const ended = new Promise((resolve) => child.once('close', resolve));
      const wait = killed < Number(kills) ? 1500 + next() * Number(maxGap) * 1000 : 900_000;
      const timer = setTimeout(async () => {
        const log = await sandbox.get('log');
        inFlight += log.filter((entry) => entry.doneAt === null || entry.doneAt === undefined).length;
        for (const pid of processesOf(state)) {
          try {
            process.kill(pid, 'SIGKILL');
          } catch {
            // It ended by itself.
          }
        }
        killed++;
      }, wait);
      const code = await ended;
      clearTimeout(timer);
      if (code === 0) {
        done = true;
        console.log(out.trim().split('\n').at(-1));
      } else if (code !== null) {
        console.error(`ended with ${code}\n${err.slice(-2000)}`);
        return false;
      } else {
        console.log(`kill ${killed}: ${err.trim().split('\n').at(-1)}`);
      }
    }
    const bill = await sandbox.get('bill');
    const database = await DuckDBInstance.create(join(dir, 'out.duckdb'));
    const connection = await database.connect();
    const [row] = (
      await connection.runAndReadAll(`select count(*)::int as total, count(distinct row_number)::int as numbers, min(row_number)::int as low,
        max(row_number)::int as high, count(*) filter (error_tag = 'UNKNOWN_OUTCOME')::int as given_up,
        (select coalesce(sum(len(unit_keys)), 0)::int from unknown_outcomes) as unknown_units from enriched_rows`)
    ).getRowObjectsJson();
    connection.closeSync();
    database.closeSync();
    const extra = Object.values(bill.keys).reduce((sum, times) => sum + times - 1, 0);
    console.log({ kills: killed, inFlightAtKills: inFlight, ...row, extraBought: extra });
    const met =
      row.total === Number(rows) &&
      row.numbers === Number(rows) &&
      row.low === 1 &&
      row.high === Number(rows) &&
      extra <= row.unknown_units;
    console.log(met ? 'met' : 'MISSED');
    return met;
  } finally {
    for (const pid of processesOf(state)) process.kill(pid, 'SIGTERM');
    sandbox.stop();
    remove();
  }
}
