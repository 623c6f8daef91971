import { isUnderWay } from '../../core/job.js';
import { SinkBusy } from '../../core/sink.js';
import { findWalk } from '../../worker/find-walk.js';
import type { JobStanding } from '../../worker/runtime-types.js';
import { type Context, type ExitCode, exitCodes } from '../context.js';
import { Meter } from '../render/meter.js';
import { printable } from '../render/printable.js';
import { progressText, rowLine } from '../render/progress-line.js';
import { standingLine } from '../render/standing.js';
import { summaryData, summaryText } from '../render/summary.js';
import { withRuntime } from '../session.js';
import { settings } from '../settings.js';
import { walkStatus } from './events-status.js';

/** `searchflow status JOB`: what runs, if it runs, and what is loaded and bought. Starts nothing; takes less than a second. */
export async function status(context: Context, job: string, flags: { readonly json?: boolean }): Promise<ExitCode> {
  const { terminal } = context;
  const config = settings(context, {});
  return withRuntime(context, config, { sends: false }, async ({ runtime }) => {
    const walk = findWalk(await runtime.walks(), job);
    if (walk) return walkStatus(context, config, runtime, walk, flags.json ?? false);
    const standing = await runtime.standing(job);
    const { shown } = standing;
    if (shown !== null && isUnderWay(shown.progress.phase)) {
      const data = { kind: 'progress', ...shown.progress, running: shown.running, ...standingData(standing) };
      terminal.data(flags.json ? JSON.stringify(data) : runningText(standing, shown));
      return exitCodes.ok;
    }
    try {
      const [summary, unknown] = await Promise.all([runtime.summary(job), runtime.unknownOutcomes(job)]);
      const end = { summary, unknown, bill: null, csv: summary.csv, origin: config.origin, badRows: [], ran: false };
      if (flags.json) terminal.data(JSON.stringify({ ...summaryData(end), ...standingData(standing) }));
      else terminal.data([standingLine(standing, Date.now()), summaryText(end)].join('\n'));
    } catch (error) {
      // Its state is known all the same.
      if (!(error instanceof SinkBusy)) throw error;
      if (flags.json) terminal.data(JSON.stringify({ kind: 'standing', job: standing.job, ...standingData(standing) }));
      else
        terminal.data(
          `${standingLine(standing, Date.now())}\nIts rows can't be counted now: ${printable(error.message)}`,
        );
    }
    return exitCodes.ok;
  });
}

function standingData({ phase, message, since }: JobStanding): object {
  return {
    phase,
    since: since === null ? null : new Date(since).toISOString(),
    ...(phase === 'failed' ? { failure: message } : phase === 'stopped' ? { stopped: message } : {}),
    message,
  };
}

function runningText(standing: JobStanding, shown: NonNullable<JobStanding['shown']>): string {
  const reading = new Meter().read({ at: Date.now(), ...shown, limits: null });
  return `${standingLine(standing, Date.now())}\n${progressText(rowLine(reading))}`;
}
