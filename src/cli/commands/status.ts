import { isUnderWay, type JobProgress, type SliceHeartbeat } from '../../core/job.js';
import { findWalk } from '../../worker/find-walk.js';
import type { JobHandle } from '../../worker/runtime-types.js';
import { answered } from '../answered.js';
import { type Context, type ExitCode, exitCodes } from '../context.js';
import { Meter } from '../render/meter.js';
import { printable } from '../render/printable.js';
import { progressText, rowLine } from '../render/progress-line.js';
import { summaryData, summaryText } from '../render/summary.js';
import { withRuntime } from '../session.js';
import { settings } from '../settings.js';
import { walkStatus } from './events-status.js';

interface Shown {
  readonly progress: JobProgress;
  readonly running: readonly SliceHeartbeat[];
}

/** `searchflow status JOB`: what runs, if it runs, and what is loaded and bought. */
export async function status(context: Context, job: string, flags: { readonly json?: boolean }): Promise<ExitCode> {
  const { terminal } = context;
  const config = settings(context, {});
  return withRuntime(context, config, { sends: false }, async ({ runtime }) => {
    const walk = findWalk(await runtime.walks(), job);
    if (walk) return walkStatus(context, config, runtime, walk, flags.json ?? false);
    const ask = <Answer>(what: (handle: JobHandle) => Promise<Answer>) => answered(() => runtime.attach(job), what);
    const ending = await ask((handle) => handle.ending());
    const shown = ending === null ? await ask((handle) => handle.progress()) : null;
    if (shown !== null && isUnderWay(shown.progress.phase)) {
      if (flags.json) terminal.data(JSON.stringify({ kind: 'progress', ...shown.progress, running: shown.running }));
      else terminal.data(statusText(shown));
      return exitCodes.ok;
    }
    if (ending?.phase === 'failed' && !flags.json)
      terminal.data(`The last run of ${printable(job)} failed: ${printable(ending.message)}`);
    if (ending?.phase === 'stopped' && !flags.json)
      terminal.data(
        `${printable(job)} is stopped (${printable(ending.message)}). To resume it: searchflow resume ${printable(job)}`,
      );
    const [summary, unknown] = await Promise.all([runtime.summary(job), runtime.unknownOutcomes(job)]);
    const end = { summary, unknown, bill: null, csv: summary.csv, origin: config.origin, badRows: [], ran: false };
    if (flags.json) terminal.data(JSON.stringify({ ...summaryData(end), ...endingData(ending) }));
    else terminal.data(summaryText(end));
    return exitCodes.ok;
  });
}

function endingData(ending: Awaited<ReturnType<JobHandle['ending']>>): object {
  if (ending === null) return {};
  return ending.phase === 'failed' ? { failure: ending.message } : { stopped: ending.message };
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
