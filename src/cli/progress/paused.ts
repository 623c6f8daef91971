import type { JobProgress } from '../../core/rows/job.js';
import { resumeCommand } from '../shared/resume-command.js';
import { printable } from '../text/printable.js';

type Env = Readonly<Record<string, string | undefined>>;

/** What a job that waits for a person tells, as whoever typed these arguments can go on. */
export function pausedText(progress: JobProgress, args: readonly string[], env: Env): string {
  const { pausedFor, message } = progress;
  const reason = `Paused (${pausedFor}): ${commandsAsTyped(printable(message ?? 'no reason was given'), env)}`;
  // The same command would stop at the same bound.
  if (pausedFor === 'budget') return `${reason}\nNothing is lost: what was bought stays bought.`;
  return `${reason}\nNothing is lost. When that is mended, go on: ${resumeCommand(args, env)}`;
}

/** The same for machines; dollars as numbers, exact to six decimals. */
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

/** The commands that a sentence names, as they are typed in a clone, where npm runs them. */
export function commandsAsTyped(sentence: string, env: Env): string {
  const script = env.npm_lifecycle_event;
  if (script !== 'start' && script !== 'searchflow') return sentence;
  return sentence.replace(/\bsearchflow (?=resume|limits|cancel)/g, 'npm run -s searchflow -- ');
}
