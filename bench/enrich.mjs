// Rows a second, CPU and memory beside a plain script, in turns, against one unlimited sandbox in a process of its own.
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bar, command, median, root, sandboxProcess, timed, workFolder, writeRows } from './measure.mjs';

/** Arguments of our run: limit and concurrency above what the machine can do. */
export function enrichArgs(csv, dir, name, extra = []) {
  return [
    command,
    'enrich',
    csv,
    '--into',
    join(dir, `${name}.duckdb`),
    '--job',
    name,
    '--qps',
    '10000',
    '--concurrency',
    '32',
    '--text',
    '--json',
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

export async function run({ rows = 100_000, runs = 3 }) {
  const { dir, remove } = workFolder();
  const sandbox = await sandboxProcess({ prebuilt: true, logEntries: 1000 });
  try {
    const csv = join(dir, 'rows.csv');
    await writeRows(csv, Number(rows));
    const ours = [];
    const plain = [];
    for (let turn = 0; turn <= Number(runs); turn++) {
      const file = join(dir, `plain-${turn}.duckdb`);
      const plainRun = await timed([join(root, 'bench', 'plain-enrich.mjs'), csv, sandbox.url, file], { cwd: root });
      rmSync(file);
      const state = join(dir, `turn-${turn}`);
      const ourRun = await timed(enrichArgs(csv, state, `bench${turn}`), {
        cwd: dir,
        env: enrichEnv(sandbox.url, state),
      });
      if (existsSync(state)) rmSync(state, { recursive: true, force: true });
      const note = turn === 0 ? ' (warm-up, not counted)' : '';
      console.log(
        `plain ${plainRun.seconds.toFixed(2)} s, ${plainRun.cpu.toFixed(2)} CPU s, ${plainRun.peakMb.toFixed(0)} MB; ` +
          `ours ${ourRun.seconds.toFixed(2)} s, ${ourRun.cpu.toFixed(2)} CPU s, ${ourRun.peakMb.toFixed(0)} MB${note}`,
      );
      if (turn > 0) {
        plain.push(plainRun);
        ours.push(ourRun);
      }
    }
    const speed = median(ours.map((our, index) => plain[index].seconds / our.seconds));
    const cpu = median(ours.map((our, index) => our.cpu / plain[index].cpu));
    const met = [
      bar('rows/s, ours / plain', speed, (value) => value >= 0.6, '>= 0.6'),
      bar('CPU seconds, ours / plain', cpu, (value) => value <= 2, '<= 2.0'),
    ];
    return met.every(Boolean);
  } finally {
    sandbox.stop();
    remove();
  }
}
