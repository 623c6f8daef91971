import type { StartedOutput } from '../../api/outputs/index.js';
import { shellWord } from '../../core/text/shell-word.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { printable } from '../text/printable.js';

export const SCHEDULED_DETACH = '--detach is for one run. The runs of a schedule belong to the workers already.';

/** Prints the id of a job that the workers run (`--detach`). */
export function showStarted(
  { terminal }: Context,
  { job, state }: Omit<StartedOutput, 'kind'>,
  json: boolean,
): ExitCode {
  const output: StartedOutput = { kind: 'started', job, state };
  terminal.data(json ? JSON.stringify(output) : printable(job));
  if (state === 'started')
    terminal.note(
      `${printable(job)} is running on the workers. To wait for it:\n  searchflow wait ${shellWord(printable(job))}`,
    );
  return exitCodes.ok;
}
