// Three worker processes on one PostgreSQL store, killed at random over one job, and the database with them: the same promise.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { ensureTemporalServer } from '../dist/worker/temporal-server.js';
import { startPostgres } from '../test/support/postgres-server.mjs';
import { command, sandboxProcess, workFolder, writeRows } from './measure.mjs';

/** Most minutes for what is left when everything was killed that was to be. */
const LEFT_MINUTES = 20;

const options = { rows: 100_000, kills: 20, databaseKills: 5, workers: 3, qps: 10, seed: 1, maxGap: 7 };

export async function runShared(given, faults) {
  const numbers = Object.entries({ ...options, ...given }).filter(([name]) => name in options);
  const { rows, kills, databaseKills, workers, qps, seed, maxGap } = Object.fromEntries(
    numbers.map(([name, value]) => [name, Number(value)]),
  );
  const { dir, remove } = workFolder();
  let random = seed;
  const next = () => {
    random = (random * 48271) % 2147483647;
    return random / 2147483647;
  };
  const sandbox = await sandboxProcess({ latencyMs: 200, qps, retryAfter: 'seconds', faults });
  const postgres = await startPostgres();
  const say = (sentence) => console.log(sentence);
  const temporal = await ensureTemporalServer({
    stateDir: join(dir, 'temporal'),
    env: process.env,
    say,
    namespace: 'default',
  });
  const store = await postgres.database('store');
  const warehouse = await postgres.database('warehouse');
  const csv = join(dir, 'rows.csv');
  await writeRows(csv, rows);

  const shared = {
    ...process.env,
    SEARCHFLOW_API_KEY: 'bench',
    SEARCHFLOW_BASE_URL: sandbox.url,
    SEARCHFLOW_STORE: store,
    SEARCHFLOW_WAREHOUSE_URL: warehouse,
    TEMPORAL_ADDRESS: temporal.address,
    SEARCHFLOW_QPS: String(qps),
  };
  const enrich = ['enrich', csv, '--into', warehouse, '--csv', join(dir, 'out.csv'), '--json'];
  const running = [];
  let ending = false;
  let finished;
  let failed;
  const over = new Promise((resolve, reject) => {
    finished = resolve;
    failed = reject;
  });
  // The first is the command itself, the others are workers of other folders.
  const start = (index) => {
    const child = spawn(process.execPath, [command, ...(index === 0 ? enrich : ['worker'])], {
      cwd: dir,
      env: { ...shared, SEARCHFLOW_STATE_DIR: join(dir, `state-${index}`) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = { out: '', err: '' };
    child.stdout.on('data', (data) => (said.out += data));
    child.stderr.on('data', (data) => (said.err = (said.err + data).slice(-4000)));
    child.ended = new Promise((resolve) => child.once('close', resolve)).then((code) => {
      if (code === 0 && index === 0) finished(said.out);
      else if (code !== null && !ending) failed(new Error(`worker ${index} ended with ${code}\n${said.err}`));
    });
    child.last = () => said.err.trim().split('\n').at(-1);
    running[index] = child;
  };

  const deaths = { workers: 0, database: 0, inFlight: 0 };
  const plan = Array.from(
    { length: kills + databaseKills },
    (_, step) =>
      Math.floor(((step + 1) * databaseKills) / (kills + databaseKills)) >
      Math.floor((step * databaseKills) / (kills + databaseKills)),
  );
  let isOver = false;
  over.then(
    () => (isOver = true),
    () => (isOver = true),
  );
  const killing = async () => {
    for (const ofDatabase of plan) {
      await Promise.race([delay(1500 + next() * maxGap * 1000), over.catch(() => undefined)]);
      if (isOver) return;
      const log = await sandbox.get('log');
      deaths.inFlight += log.filter((entry) => entry.doneAt === null || entry.doneAt === undefined).length;
      if (ofDatabase) {
        await postgres.kill();
        deaths.database++;
        await delay(next() * 3000);
        await postgres.start();
        console.log(`database killed ${deaths.database}: ${running[0].last()}`);
        continue;
      }
      const index = Math.floor(next() * workers);
      running[index].kill('SIGKILL');
      await running[index].ended;
      deaths.workers++;
      console.log(`worker ${index} killed (${deaths.workers}): ${running[index].last()}`);
      if (isOver) return;
      await delay(next() * 2000);
      start(index);
    }
  };

  try {
    for (let index = 0; index < workers; index++) start(index);
    await Promise.race([killing(), over]);
    const out = await Promise.race([
      over,
      delay(LEFT_MINUTES * 60_000, null, { ref: false }).then(() => {
        throw new Error(`not done in ${LEFT_MINUTES} minutes after the last kill: ${running[0].last()}`);
      }),
    ]);
    console.log(out.trim().split('\n').at(-1));
    ending = true;
    const bill = await sandbox.get('bill');
    const log = await sandbox.get('log');
    const client = new pg.Client({ connectionString: warehouse });
    await client.connect();
    const { rows: found } = await client.query(
      `SELECT count(*)::int AS total, count(DISTINCT row_number)::int AS numbers, min(row_number)::int AS low,
         max(row_number)::int AS high, count(*) FILTER (WHERE error_tag = 'UNKNOWN_OUTCOME')::int AS given_up,
         (SELECT coalesce(sum(cardinality(unit_keys)), 0)::int FROM searchflow.unknown_outcomes) AS unknown_units
       FROM searchflow.enriched_rows`,
    );
    await client.end();
    const row = found[0];
    const extra = Object.values(bill.keys).reduce((sum, times) => sum + times - 1, 0);
    const lines = readFileSync(join(dir, 'out.csv'), 'utf8').split('\n').length;
    const refused = log.filter((entry) => entry.status === 429).length;
    console.log({ ...deaths, ...row, extraBought: extra, requests: log.length, refused429: refused, csvLines: lines });
    const met =
      deaths.workers === kills &&
      deaths.database === databaseKills &&
      row.total === rows &&
      row.numbers === rows &&
      row.low === 1 &&
      row.high === rows &&
      lines > rows &&
      extra <= row.unknown_units;
    console.log(met ? 'met' : 'MISSED');
    return met;
  } finally {
    ending = true;
    for (const child of running) child?.kill('SIGKILL');
    await Promise.all(running.map((child) => child?.ended));
    await temporal.detach();
    sandbox.stop();
    await postgres.stop();
    remove();
  }
}
