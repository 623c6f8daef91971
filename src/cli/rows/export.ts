import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Output } from '../../api/command-outputs.js';
import { makeFolder } from '../../files/make-folder.js';
import { isSameFile } from '../../files/same-file.js';
import { placeOrProblem } from '../../worker/config/publish-step.js';
import { UsageError } from '../../worker/config/runtime-types.js';
import { type Context, type ExitCode, exitCodes, type Flags } from '../shared/command.js';
import { settings, withRuntime } from '../shared/session.js';
import { printable, some } from '../text.js';

export async function exportJob(context: Context, job: string, flags: Flags<'export'>): Promise<ExitCode> {
  const { csv, parquet } = flags;
  if (csv === undefined && parquet === undefined) {
    throw new UsageError('missing-argument', 'Pass --csv FILE (- for stdout), --parquet DIR, or both.');
  }
  if (
    csv !== undefined &&
    parquet !== undefined &&
    isSameFile(resolve(context.cwd, csv), resolve(context.cwd, parquet))
  ) {
    throw new UsageError('option-unusable', `--csv and --parquet name the same path, ${csv}.`);
  }
  return withRuntime(context, settings(context, {}), {}, async ({ runtime, config }) => {
    const form = { delimiter: flags.csvDelimiter, bom: flags.csvBom };
    await runtime.rows.checkTargets(job, csv === '-' ? { parquet } : { csv, parquet });
    if (parquet !== undefined) {
      const { rows, files, folder } = await runtime.rows.exportParquet(job, parquet);
      context.terminal.say(`${some(rows, 'row')} written to ${printable(folder)} in ${some(files, 'file')}`);
    }
    if (csv === undefined) return exitCodes.ok;
    if (csv !== '-') {
      const { rows, file } = await runtime.rows.export(job, csv, form);
      context.terminal.say(`${some(rows, 'row')} written to ${printable(file)}`);
      return exitCodes.ok;
    }
    // The CSV is first written to a temporary file, so that a failed export writes nothing to stdout.
    const folder = join(config.stateDir, 'scratch');
    makeFolder(folder);
    const own = mkdtempSync(join(folder, 'export-'));
    const scratch = join(own, 'stdout.csv');
    try {
      await runtime.rows.export(job, scratch, form);
      const { stdout } = context.terminal.streams();
      await pipeline(createReadStream(scratch), stdout, { end: false }).catch((error: NodeJS.ErrnoException) => {
        // A closed pipe (`… | head`) is not a failure.
        if (error.code !== 'EPIPE') throw error;
      });
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  });
}

export async function publish(context: Context, what: string, flags: Flags<'publish'>): Promise<ExitCode> {
  const { to, from = null, mode, key = [], partition = null } = flags;
  const mistakes: string[] = [];
  const place = placeOrProblem(to);
  if (typeof place === 'string') mistakes.push(`--to: ${place}.`);
  if (mode === 'merge' && key.length === 0)
    mistakes.push('--mode merge needs --key, the columns that identify a row, such as --key website.');
  if (mode !== 'merge' && key.length > 0) mistakes.push('--key needs --mode merge.');
  const config = settings(context, from === null ? {} : { into: from, intoFlag: '--from' }, mistakes);
  return withRuntime(context, config, {}, async ({ runtime }) => {
    const done = await runtime.publish({ what, from, to, mode, key, partition });
    const target = printable(done.target);
    const lines = done.tables.map(
      ({ name, rows, total }) =>
        `${printable(name)}: ${some(rows, 'row')} published to ${target}${total === rows ? '' : `, which now has ${some(total, 'row')}`}`,
    );
    const same = `${target} has these rows of run ${printable(done.run)} already. Nothing was written.`;
    context.terminal.tell<Output<'publish'>>({ kind: 'publish', ...done }, done.changed ? lines.join('\n') : same);
  });
}
