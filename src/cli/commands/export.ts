import { createReadStream, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Context, type ExitCode, exitCodes } from '../context.js';
import { some } from '../render/amounts.js';
import { printable } from '../render/printable.js';
import { withRuntime } from '../session.js';
import { settings } from '../settings.js';

/** `searchflow export JOB --csv OUT`: the enriched CSV, any time; `-` is stdout. Needs no Temporal server. */
export async function exportJob(context: Context, job: string, flags: { readonly csv: string }): Promise<ExitCode> {
  const config = settings(context, {});
  return withRuntime(context, config, { sends: false }, async ({ runtime }) => {
    if (flags.csv !== '-') {
      const { rows, file } = await runtime.export(job, flags.csv);
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
