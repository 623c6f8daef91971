import type { JobProgress } from '../../core/rows/job.js';
import { resumeCommand } from '../shared/resume-command.js';
import { printable } from '../text/printable.js';

type Env = Readonly<Record<string, string | undefined>>;

/** Returns the text of a paused job, with the command that resumes it. */
export function pausedText(progress: JobProgress, args: readonly string[], env: Env): string {
  const { pausedFor, message } = progress;
  // No command is added: the same one would stop at the same cap or refusal.
  const isAnother = pausedFor === 'budget' || pausedFor === 'request';
  const why = isAnother ? message : withoutCommand(message);
  const reason = `Paused (${pausedFor}): ${commandsAsTyped(commandOnOwnLine(printable(why ?? 'no reason given')), env)}`;
  if (isAnother) return `${reason}\nPaid results are kept.`;
  return `${reason}\nPaid results are kept. To resume after fixing this:\n  ${resumeCommand(args, env)}`;
}

/** Returns the pause as JSON fields; dollars are exact to six decimals. */
export function pausedData(progress: JobProgress): object {
  const { job, pausedFor, message, rows, rowsDone, costMicros, maxCostMicros = null, unknownOutcomes } = progress;
  return {
    kind: 'paused',
    job,
    pausedFor,
    message,
    rows,
    rowsDone,
    dollars: costMicros / 1e6,
    maxDollars: maxCostMicros === null ? null : maxCostMicros / 1e6,
    unknownOutcomes,
  };
}

/**
 * Returns the reason of a pause without its last clause, which says to resume: the caller adds the command as it was typed. In messages of
 * earlier versions that clause names a command.
 */
export function withoutCommand(message: string | null): string | null {
  return withoutResume(message)?.replace(/[,;.:]?\s*[^,;.:]*:\s*searchflow resume [^\s,;]+$/, '.') ?? null;
}

/** Returns the reason of a pause without "then resume JOB", which cannot be copied as a command; a command in the reason stays. */
export function withoutResume(message: string | null): string | null {
  return message?.replace(/, then resume \S+$/, '.') ?? null;
}

/** Returns a sentence with the command at its end on a line of its own, to copy. Messages are stored on one line. */
export function commandOnOwnLine(sentence: string): string {
  return sentence.replace(
    /: (searchflow resume \S*[^\s.](?: --max-cost \d+(?:\.\d+)?| --skip-refused)?)\.?$/,
    ':\n  $1',
  );
}

/** Returns a sentence with its commands as they are typed in a clone, where npm runs them. */
export function commandsAsTyped(sentence: string, env: Env): string {
  const script = env.npm_lifecycle_event;
  if (script !== 'start' && script !== 'searchflow') return sentence;
  return sentence.replace(/\bsearchflow (?=resume|limits|cancel)/g, 'npm run -s searchflow -- ');
}
