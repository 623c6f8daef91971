// Peak memory and history at 300,000 and at 1,000,000 rows.
import { join } from 'node:path';
import { enrichArgs, enrichEnv } from './enrich.mjs';
import { sandboxProcess, timed, workFolder, writeRows } from './measure.mjs';
import { bar, row } from './results.mjs';

export const defaults = { small: 300_000, large: 1_000_000 };

export async function run({ small, large }) {
  const { dir, remove } = workFolder();
  try {
    const peaks = [];
    for (const rows of [small, large]) {
      const sandbox = await sandboxProcess({ logEntries: 1000 });
      const csv = join(dir, `rows-${rows}.csv`);
      await writeRows(csv, rows);
      const state = join(dir, `run-${rows}`);
      const result = await timed(enrichArgs(csv, `memory${rows}`, join(state, `memory${rows}.duckdb`)), {
        cwd: dir,
        env: enrichEnv(sandbox.url, state),
      });
      sandbox.stop();
      row({ rows, seconds: result.seconds, 'rows/s': rows / result.seconds, 'peak MB': result.peakMb });
      peaks.push(result.peakMb);
    }
    bar(`peak MB at ${large} rows`, peaks[1], '<= 1000');
    bar('peak, large / small', peaks[1] / peaks[0], '<= 1.15');
  } finally {
    remove();
  }
}
