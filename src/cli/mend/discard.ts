import type { DiscardedOutput } from '../../api/outputs/index.js';
import { shellWord } from '../../core/text/shell-word.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { count, some } from '../text/amounts.js';
import { printable } from '../text/printable.js';
import { type FailedFlags, readFailedSelection } from './failed-selection.js';

export interface DiscardFlags extends FailedFlags {
  readonly undo?: boolean;
  readonly json?: boolean;
}

/** `searchflow discard JOB`: marks failed rows as discarded, or undoes that. Buys nothing, and needs no Temporal server. */
export async function discard(context: Context, job: string, flags: DiscardFlags): Promise<ExitCode> {
  const { terminal } = context;
  const { undo = false, json = false } = flags;
  const mistakes: string[] = [];
  const selection = readFailedSelection(flags, mistakes);
  if (flags.tag === undefined && flags.row === undefined)
    mistakes.push('Name the rows: --tag TAG for the rows with an error tag, or --row N. Both may be repeated.');
  const config = settings(context, {}, mistakes);
  return withRuntime(context, config, { sends: false }, async ({ runtime }) => {
    const done = await runtime.rows.discard(job, { ...selection, undo });
    const { name, rows, discarded, failed } = done;
    if (json) {
      const output: DiscardedOutput = { kind: 'discarded', job: done.job, name, undo, rows, discarded, failed };
      terminal.data(JSON.stringify(output));
      return exitCodes.ok;
    }
    const change = undo ? 'no longer discarded' : 'discarded';
    const verb = rows === 1 ? 'is' : 'are';
    terminal.say(
      `${printable(name)}: ${some(rows, 'failed row')} ${verb} ${change}. Now ${count(discarded)} of its rows are discarded, and ${count(failed)} count as failed.`,
    );
    if (!undo) terminal.say(`To undo it:\n  ${undoLine(job, flags)}`);
    return exitCodes.ok;
  });
}

function undoLine(job: string, { tag = [], row = [] }: DiscardFlags): string {
  const flags = [
    ...tag.map((text) => `--tag ${shellWord(printable(text))}`),
    ...row.map((text) => `--row ${shellWord(text)}`),
  ];
  return ['searchflow discard', shellWord(printable(job)), ...flags, '--undo'].join(' ');
}
