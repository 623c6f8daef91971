import type { PausedOutput } from '../../api/outputs/index.js';
import type { JobProgress } from '../../core/rows/job.js';
import { codeOfPause } from '../../core/rows/pause.js';
import { resumeCommand } from '../shared/resume-command.js';
import { printable } from '../text/printable.js';
import { commandOnOwnLine, commandsAsTyped, withoutCommand } from '../text/way-to-resume.js';

type Env = Readonly<Record<string, string | undefined>>;

/** Returns the text about a paused job, with the command that resumes the job. */
export function pausedText(progress: JobProgress, args: readonly string[], env: Env): string {
  const { pausedFor, message } = progress;
  // No command is added for these reasons, because their message has the command that continues the job.
  const isAnother = pausedFor !== null && ['budget', 'request', 'failed'].includes(pausedFor);
  const why = isAnother ? message : withoutCommand(message);
  const reason = `Paused${pausedFor ? ` (${pausedFor})` : ''}: ${commandsAsTyped(commandOnOwnLine(printable(why ?? 'no reason given')), env)}`;
  if (isAnother) return `${reason}\nPaid results are kept.`;
  return `${reason}\nPaid results are kept. To resume after fixing this:\n  ${resumeCommand(args, env)}`;
}

/** Returns the pause as JSON fields; dollars are exact to six decimals. */
export function pausedData(progress: JobProgress): PausedOutput {
  const {
    job,
    pausedFor,
    message,
    rows,
    rowsDone,
    costMicros,
    earlierMicros = 0,
    maxCostMicros = null,
    unknownOutcomes,
  } = progress;
  return {
    kind: 'paused',
    job,
    pausedFor,
    code: codeOfPause(pausedFor, message),
    message,
    rows,
    rowsDone,
    dollars: costMicros / 1e6,
    // The part of the dollars that the cap does not limit: runs at the service that an earlier run of the job started.
    earlierDollars: earlierMicros / 1e6,
    maxDollars: maxCostMicros === null ? null : maxCostMicros / 1e6,
    unknownOutcomes,
  };
}
