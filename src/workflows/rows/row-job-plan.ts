import { upsertMemo, workflowInfo } from '@temporalio/workflow';
import type { AllActivities } from '../../activities/index.js';
import type { EnrichCsvInput } from '../../core/row-job-schemas.js';
import { bulkPolicy } from '../shared/policies.js';
import { forFirst } from '../shared/public-input.js';
import { toRanges } from '../shared/range-queue.js';
import { summarizedActivities } from '../shared/summarized-activities.js';
import type { RowJobState, Settable } from './row-job-state.js';

const { stageInput, openJob } = summarizedActivities(bulkPolicy, {
  stageInput: 'read and check the input',
  openJob: 'compare the rows with the warehouse',
});

/**
 * Stages the rows if they are not staged, and opens the job in its warehouse. `asked`: returns the effect of the signals so far. `planWith`:
 * does work that a pause interrupts.
 */
export async function planRowJob(
  input: EnrichCsvInput,
  asked: () => Settable & Pick<RowJobState, 'paused'>,
  planWith: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<RowJobState> {
  const { staged, freshness } = input.staged
    ? { staged: input.staged, freshness: input.freshness ?? undefined }
    : await planWith(() => stageRows(input));
  const { csv = null, publish } = input;
  const { slices, loaded, ...opened } = await openJob({ staged, csv, freshness, publish });
  return {
    version: 1,
    ...opened,
    freshness,
    queue: toRanges(slices),
    startedAt: workflowInfo().startTime.getTime(),
    resumedAt: Date.now(),
    ...asked(),
    requests: 0,
    failed: loaded?.failed ?? 0,
    partial: loaded?.partial ?? [],
    costMicros: 0,
    earlierMicros: 0,
    unknownOutcomes: 0,
  };
}

async function stageRows(input: EnrichCsvInput): ReturnType<AllActivities['stageInput']> {
  // The memo of a scheduled run names its schedule.
  const { schedule } = workflowInfo().memo ?? {};
  const isNamed = input.scheduled === true && typeof schedule === 'string';
  const found = await stageInput({ ...forFirst(input), schedule: isNamed ? schedule : undefined });
  // A command that stages the rows writes the same memo. A later command compares the memo with its own rows.
  const { generation, host, limit } = found.staged;
  upsertMemo({ generation, host: host ?? null, limit: limit ?? null });
  return found;
}
