import { continueAsNew } from '@temporalio/workflow';
import type { EnrichCsvInput, JobSummary } from '../../core/row-job-schemas.js';
import { publicInput } from '../shared/public-input.js';
import { setVersioning } from '../shared/versioning.js';
import { type RowJobState, rowJob } from './row-job.js';

/**
 * `enrichCsv`: buys page contents, a search, an answer or another `operation` for every row of a CSV file, and loads the results into a
 * warehouse.
 *
 * Start the workflow by name with plain JSON, see `EnrichCsvInput`. Signals `pause` and `resume`, query `progress`. After a cancel, paid
 * calls in flight land. Use a stable workflow id: a new start of the same job buys only what is new. The second argument is internal, for
 * continuing as new. API reference: /contents.
 */
export async function enrichCsv(input: EnrichCsvInput, state?: RowJobState, ...extra: []): Promise<JobSummary> {
  return rowJob(publicInput('enrichCsv', [input], { carried: state, extra }), state, (nextInput, nextState) =>
    continueAsNew<typeof enrichCsv>(nextInput, nextState),
  );
}

setVersioning('moves', enrichCsv);
