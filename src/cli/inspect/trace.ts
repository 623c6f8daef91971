import type { TracedName } from '../../worker/runtime/trace-row.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { printable } from '../text/printable.js';
import { traceData, traceText } from './trace-text.js';

export interface TraceFlags {
  readonly row?: string;
  readonly url?: string;
  readonly answer?: boolean;
  readonly json?: boolean;
}

/** `searchflow trace JOB --row N`: traces one row from its input to the warehouse. Starts nothing. */
export async function trace(context: Context, job: string, flags: TraceFlags): Promise<ExitCode> {
  const { terminal } = context;
  const mistakes: string[] = [];
  const name = readName(flags, mistakes);
  const config = settings(context, {}, mistakes);
  return withRuntime(context, config, { sends: false, bounded: true }, async ({ runtime }) => {
    const traced = await runtime.rows.trace(job, flags.answer ? { ...name, withAnswer: true } : name);
    terminal.data(flags.json ? JSON.stringify(traceData(traced)) : traceText(traced, Date.now()));
    return exitCodes.ok;
  });
}

function readName({ row, url }: TraceFlags, mistakes: string[]): TracedName {
  if (row !== undefined && url !== undefined) mistakes.push('--row and --url exclude each other. Pass one of them.');
  else if (row === undefined && url === undefined)
    mistakes.push('Name the row: --row N, its number in the input, or --url URL.');
  if (url !== undefined) return { url };
  const number = /^[\d,]{1,15}$/.test(row?.trim() ?? '') ? Number(row?.replaceAll(',', '')) : 0;
  if (row !== undefined && number < 1)
    mistakes.push(`--row: ${printable(row, 60)} is not the number of a row. Rows are numbered from 1.`);
  return { row: number };
}
