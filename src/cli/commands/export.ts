import { createReadStream, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { UsageError } from '../../worker/runtime-types.js';
import { type Context, type ExitCode, exitCodes } from '../context.js';
import { some } from '../render/amounts.js';
import { printable } from '../render/printable.js';
import { withRuntime } from '../session.js';
import { settings } from '../settings.js';

export interface ExportFlags {
  readonly csv?: string;
  readonly parquet?: string;
}

/** `searchflow export JOB`: the rows as an enriched CSV (`-` is stdout), as Parquet files, or both. Needs no Temporal server. */
export async function exportJob(context: Context, job: string, flags: ExportFlags): Promise<ExitCode> {
  const { csv, parquet } = flags;
  if (csv === undefined && parquet === undefined) {
    throw new UsageError('Say where to: --csv FILE (- for stdout), --parquet DIR, or both.');
  }
  const config = settings(context, {});
  return withRuntime(context, config, { sends: false }, async ({ runtime }) => {
    if (parquet !== undefined) {
      const { rows, files, folder } = await runtime.exportParquet(job, parquet);
      context.terminal.say(`${some(rows, 'row')} written to ${printable(folder)} in ${some(files, 'file')}`);
    }
    if (csv === undefined) return exitCodes.ok;
    if (csv !== '-') {
      const { rows, file } = await runtime.export(job, csv);
      context.terminal.say(`${some(rows, 'row')} written to ${printable(file)}`);
      return exitCodes.ok;
    }
    // Through a file, so that a reader of stdout never sees the first half of an export that fails.
    const folder = join(config.stateDir, 'scratch');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const scratch = join(folder, `export-${process.pid}.csv`);
    try {
      await runtime.export(job, scratch);
      await pipeline(createReadStream(scratch), context.terminal.streams().stdout, { end: false }).catch(
        ignoreLostReader,
      );
    } finally {
      rmSync(scratch, { force: true });
    }
    return exitCodes.ok;
  });
}

/** `… | head` has seen enough. */
function ignoreLostReader(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
}
