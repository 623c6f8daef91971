import { continueAsNew } from '@temporalio/workflow';
import type { EnrichCsvInput, JobSummary } from '../../core/rows/job.js';
import { publicInput } from '../shared/public-input.js';
import { type RowJobState, rowJob } from './row-job.js';

/**
 * `enrichCsv`: page contents (interface section 4.2), a search, an answer or whatever `operation` says for every row of a CSV file,
 * into a warehouse.
 *
 * Start it by name with plain JSON, see `EnrichCsvInput`. Signals `pause` and `resume`, query `progress`; cancelling lets paid
 * calls in flight land. Give it a stable workflow id: the same job started again buys only what is new.
 * The second argument is its own, for continuing as new.
 */
export async function enrichCsv(input: EnrichCsvInput, state?: RowJobState): Promise<JobSummary> {
  return rowJob(publicInput('enrichCsv', [input], { carried: state }), state, (nextInput, nextState) =>
    continueAsNew<typeof enrichCsv>(nextInput, nextState),
  );
}
