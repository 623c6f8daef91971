import type { Output } from '../../api/command-outputs.js';
import type { NextAction } from '../../core/row-job-schemas.js';
import { boundTexts } from '../../core/rows/job.js';
import { isUnderWay } from '../../core/rows/job-names.js';
import { inOneSentence, nextText, sentenceOf, toContinue } from '../../core/rows/pause.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { dollars } from '../../core/text/money.js';
import type { JobStatus } from '../../worker/config/runtime-types.js';
import { findWalk } from '../../worker/runtime/job-lists.js';
import { progressText, rowProgress } from '../progress/progress.js';
import { endedData, endingOf, summaryText } from '../progress/summary.js';
import { type Context, type ExitCode, exitCodes } from '../shared/command.js';
import { Silent, settings, within, withRuntime } from '../shared/session.js';
import { duration, printable, printableLines, sentence } from '../text.js';

/** Longest wait for the counts of a warehouse. */
const COUNT_MS = 3000;

export async function status(context: Context, job: string): Promise<ExitCode> {
  const { terminal } = context;
  return withRuntime(context, settings(context, {}), { bounded: true }, async (session) => {
    const { runtime, config, abandon } = session;
    const walk = findWalk(await runtime.jobs.walks(), job);
    // The code for the status of a walk is loaded only here, because it needs Temporal's client. The status of a job rarely
    // needs the client.
    if (walk) {
      const { showEvents } = await import('../events/events-status.js');
      return showEvents({ ...session, config: { ...config, origin: walk.origin } }, walk.into, { isWalk: true });
    }
    const found = await runtime.rows.status(job);
    const { shown } = found;
    if (shown !== null && isUnderWay(shown.progress.phase)) {
      const { costMicros: totalCostMicros = 0 } = found;
      const { progress, running } = shown;
      const data: Output<'progress'> = {
        kind: 'progress',
        ...inOneSentence(progress),
        totalCostMicros,
        running,
        ...statusData(found),
      };
      terminal.print(data, runningText(found, shown, totalCostMicros));
      return exitCodes.ok;
    }
    const say = (data: object, text: string) => terminal.print(data, `${statusLine(found, Date.now())}\n${text}`);
    if (found.isUnopened) {
      say(stateData(found), 'No worker has read its input yet.');
      return exitCodes.ok;
    }
    try {
      const silent = `the warehouse did not answer within ${COUNT_MS / 1000} s`;
      const end = await within(COUNT_MS, endingOf(session, job), silent);
      const data: Output<'statusSummary'> = { ...endedData(end, found.lastRun), ...statusData(found) };
      say(data, summaryText(end, context.env));
    } catch (error) {
      // The state is shown even if the warehouse cannot be read.
      if (!(error instanceof WarehouseBusy || error instanceof WarehouseUnusable || error instanceof Silent))
        throw error;
      if (error instanceof Silent) abandon();
      say(stateData(found), `Its rows cannot be counted now: ${printable(error.message)}`);
    }
  });
}

export const stateData = (found: JobStatus): Output<'state'> => ({
  kind: 'status',
  job: found.job,
  ...statusData(found),
});

function statusData(found: JobStatus): Omit<Output<'state'>, 'kind' | 'job'> {
  const { phase, since } = found;
  return { phase, since, message: sentenceOf(found) };
}

function runningText(
  found: JobStatus,
  { progress, running, refusals = [] }: NonNullable<JobStatus['shown']>,
  totalMicros: number,
): string {
  const now = Date.now();
  const line = progressText(rowProgress().line(now, progress, running, null));
  // The line has the cost of this run, but the rows of all runs.
  const total = totalMicros > progress.costMicros ? [`Bought in all runs of the job: ${dollars(totalMicros)}.`] : [];
  const others = refusals.map((refusal) => printable(refusal));
  return [statusLine(found, now), line, ...boundTexts(progress), ...total, ...others].join('\n');
}

const words: Readonly<Record<JobStatus['phase'], string>> = {
  planning: 'is planning',
  running: 'is running',
  waiting: 'is waiting for a worker',
  paused: 'is paused',
  stopped: 'is stopped',
  done: 'is done',
  failed: 'failed',
  cancelled: 'is cancelled',
};

/** Returns the state of a job with its time, its reason, and what to do next. */
export function statusLine(found: JobStatus, now: number): string {
  const { name, phase, message } = found;
  const why = message === null ? '' : `: ${printable(message)}`;
  const first = sentence(`${printable(name)} ${words[phase]}${sinceText(found, now)}${why}`);
  return [first, ...nextSteps(found).map((step) => printableLines(nextText(step)))].join(' ');
}

function sinceText({ since }: JobStatus, now: number): string {
  if (since === null) return '';
  return ` since ${new Date(since).toISOString().slice(0, 16).replace('T', ' ')} UTC (${duration(Math.max(0, now - since) / 1000)})`;
}

function nextSteps({ job, phase, schedule, message, next }: JobStatus): NextAction[] {
  if (phase === 'waiting') return [{ text: message === null ? 'To run it' : 'To start one', command: 'worker' }];
  if (!['paused', 'stopped', 'failed', 'cancelled'].includes(phase)) return [];
  // A resumed job would not be a run of its schedule: another trigger would be skipped while the job is paused.
  const usual = toContinue(job, phase === 'paused' ? undefined : schedule);
  if (!next) return [usual];
  return next.command === null && schedule !== undefined ? [next, usual] : [next];
}

export const phaseWord = (phase: JobStatus['phase']): string => (phase === 'waiting' ? 'waiting for a worker' : phase);
