import { setTimeout as sleep } from 'node:timers/promises';
import type { JobProgress, SliceHeartbeat } from '../../core/job.js';
import { JobFailed, type Runtime, UsageError } from '../../worker/runtime-types.js';
import { type Context, type ExitCode, exitCodes } from '../context.js';
import { Meter } from '../render/meter.js';
import { printable } from '../render/printable.js';
import { progressText, rowLine } from '../render/progress-line.js';
import { summaryData, summaryText } from '../render/summary.js';
import { withRuntime } from '../session.js';
import { settings } from '../settings.js';

/** A living worker answers within milliseconds; one that is gone never does. */
const ANSWER_MS = 3000;

interface Shown {
  readonly progress: JobProgress;
  readonly running: readonly SliceHeartbeat[];
}

/** `searchflow status JOB`: what runs, if it runs, and what is loaded and bought. */
export async function status(context: Context, job: string, flags: { readonly json?: boolean }): Promise<ExitCode> {
  const { terminal } = context;
  const config = settings(context, {});
  return withRuntime(context, config, { sends: false }, async ({ runtime }) => {
    const shown = await ask(runtime, job);
    if (shown !== null && ['planning', 'running', 'paused'].includes(shown.progress.phase)) {
      if (flags.json) terminal.data(JSON.stringify({ kind: 'progress', ...shown.progress, running: shown.running }));
      else terminal.data(statusText(shown));
      return exitCodes.ok;
    }
    const [summary, unknown] = await Promise.all([runtime.summary(job), runtime.unknownOutcomes(job)]);
    const ending = { summary, unknown, bill: null, csv: summary.csv, origin: config.origin, badRows: [], ran: false };
    if (flags.json) terminal.data(JSON.stringify(summaryData(ending)));
    else terminal.data(summaryText(ending));
    return exitCodes.ok;
  });
}

/** The workflow's own answer; null where nothing answers for it: it never ran on this server, or no worker lives. */
async function ask(runtime: Runtime, job: string): Promise<Shown | null> {
  try {
    const handle = await runtime.attach(job);
    return await Promise.race([handle.progress(), sleep(ANSWER_MS, null, { ref: false })]);
  } catch (error) {
    if (error instanceof UsageError || error instanceof JobFailed) throw error;
    return null;
  }
}

function statusText({ progress, running }: Shown): string {
  const reading = new Meter().read({ at: Date.now(), progress, running, limits: null });
  const why = progress.pausedFor === null ? '' : ` (${progress.pausedFor})`;
  return [
    `${printable(progress.job)}: ${progress.phase}${why}`,
    progressText(rowLine(reading)),
    ...(progress.message === null ? [] : [printable(progress.message)]),
  ].join('\n');
}
