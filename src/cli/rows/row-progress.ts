import type { JobProgress, SliceHeartbeat } from '../../core/rows/job.js';
import { costText } from '../../core/text/money.js';
import { ProgressReader, speedText, waitText } from '../progress/progress.js';
import type { ProgressLine } from '../progress/progress-line.js';
import { count, duration } from '../text/amounts.js';

/** Turns polls of a row job into progress lines. */
export class RowProgressReader extends ProgressReader<JobProgress, SliceHeartbeat> {
  line(at: number, progress: JobProgress, running: readonly SliceHeartbeat[], blocked: string | null): ProgressLine {
    const { phase, rows, maxCostMicros = null, retrying = 0, unknownOutcomes } = progress;
    const done = Math.min(rows, this.count('landed', progress.rowsDone, running));
    const costMicros = this.count('costMicros', progress.costMicros, running);
    const earlierMicros = this.count('earlierMicros', progress.earlierMicros ?? 0, running);
    const failed = this.count('failed', progress.failed, running);
    const perSecond = this.speed.at(at, done);
    return {
      part: rows === 0 ? null : done / rows,
      facts: [
        `${count(done)}/${count(rows)} rows`,
        ...speedText(perSecond, 'rows'),
        ...(perSecond && phase !== 'paused' && blocked === null
          ? [`${duration(Math.ceil((rows - done) / perSecond))} left`]
          : []),
        costText({ costMicros, earlierMicros, maxCostMicros }),
        ...(retrying > 0 ? [`trying ${count(retrying)} failed once more`] : []),
      ],
      alarm: failed > 0 ? `${count(failed)} failed` : null,
      notes: unknownOutcomes > 0 ? [`${count(unknownOutcomes)} unknown outcomes`] : [],
      waits: waitText(progress, running, blocked, 'preparing the warehouse'),
    };
  }
}
