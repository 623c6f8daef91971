import type { JobProgress } from '../../core/rows/job.js';
import { dollars } from '../../core/text/money.js';

/** Returns the state of a job for Temporal's web UI (Markdown). */
export function detailsText(progress: JobProgress): string {
  const { job, phase, pausedFor, message, rows, rowsDone, slices, slicesDone, unknownOutcomes } = progress;
  const most = typeof progress.maxCostMicros === 'number' ? ` of at most ${dollars(progress.maxCostMicros)}` : '';
  return [
    `**${job}**: ${phase}${pausedFor ? ` (${pausedFor})` : ''}`,
    `${rowsDone} of ${rows} rows, ${slicesDone} of ${slices} slices, ${dollars(progress.costMicros)}${most} in this run`,
    ...(unknownOutcomes > 0 ? [`${unknownOutcomes} unknown outcomes`] : []),
    ...(message ? [message] : []),
  ].join('\n\n');
}
