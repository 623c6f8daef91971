// Peak memory and history at 300,000 and at 1,000,000 rows.
import { join } from 'node:path';
import { enrichArgs, enrichEnv } from './enrich.mjs';
import { bar, sandboxProcess, timed, workFolder, writeRows } from './measure.mjs';

export async function run({ small = 300_000, large = 1_000_000 }) {
  const { dir, remove } = workFolder();
  try {
    const peaks = [];
    for (const rows of [Number(small), Number(large)]) {
      const sandbox = await sandboxProcess({ prebuilt: true, logEntries: 1000 });
      const csv = join(dir, `rows-${rows}.csv`);
      await writeRows(csv, rows);
      const state = join(dir, `run-${rows}`);
      const result = await timed(enrichArgs(csv, `memory${rows}`, join(state, `memory${rows}.duckdb`)), {
        cwd: dir,
        env: enrichEnv(sandbox.url, state),
      });
      sandbox.stop();
      console.log(
        `${rows} rows: ${result.seconds.toFixed(1)} s, ${(rows / result.seconds).toFixed(0)} rows/s, ${result.peakMb.toFixed(0)} MB`,
      );
      peaks.push(result.peakMb);
    }
    const met = [
      bar(`peak MB at ${large} rows`, peaks[1], (value) => value <= 700, '<= 700'),
      bar('peak, large / small', peaks[1] / peaks[0], (value) => value <= 1.15, '<= 1.15'),
    ];
    return met.every(Boolean);
  } finally {
    remove();
  }
}
