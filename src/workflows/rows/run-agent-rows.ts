import { continueAsNew } from '@temporalio/workflow';
import type { AgentRowsInput, JobSummary } from '../../core/row-job-schemas.js';
import { setTwice, toEnrichInput } from '../../core/rows/agent-rows.js';
import { publicInput } from '../shared/public-input.js';
import { setVersioning } from '../shared/versioning.js';
import { type RowJobState, rowJob } from './row-job.js';

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

setVersioning('moves', runAgentRows);
