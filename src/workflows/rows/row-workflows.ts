import { continueAsNew } from '@temporalio/workflow';
import type { EnrichedPage, EnrichRowsInput } from '../../core/enrich-rows-schemas.js';
import type { AgentRowsInput, EnrichCsvInput, JobSummary } from '../../core/row-job-schemas.js';
import { setTwice, toEnrichInput } from '../../core/rows/agent-rows.js';
import { publicInput } from '../shared/public-input.js';
import { setVersioning } from '../shared/versioning.js';
import { enrichPage } from './enrich-rows.js';
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

/**
 * `runAgentRows`: makes an agent run for every row of a CSV file, and loads the outputs as columns into a warehouse.
 *
 * Start the workflow by name with plain JSON, see `AgentRowsInput`. The workflow is `enrichCsv` with `operation: 'agent'`, and has the same
 * signals, query and guarantees. It never exceeds the team's slots for runs. A cancel of the workflow also cancels its runs. The second
 * argument is internal, for continuing as new. API reference: /agent/runs.
 */
export async function runAgentRows(input: AgentRowsInput, state?: RowJobState, ...extra: []): Promise<JobSummary> {
  const checked = publicInput('runAgentRows', [input], { carried: state, extra, also: setTwice });
  return rowJob(toEnrichInput(checked), state, ({ staged }, nextState) =>
    continueAsNew<typeof runAgentRows>(staged ? { ...checked, staged } : checked, nextState),
  );
}

/**
 * The workflow `enrichRows`, for other languages and for large calls: like `enrichRows` in workflow code, but its result is a page of less than
 * 2 MiB. `next` is the input for the other rows.
 */
export async function enrichRows(input: EnrichRowsInput): Promise<EnrichedPage> {
  return enrichPage(publicInput('enrichRows', [input]));
}

for (const workflow of [enrichCsv, runAgentRows, enrichRows]) setVersioning('moves', workflow);
