import { continueAsNew } from '@temporalio/workflow';
import { type AgentRowsInput, toEnrichInput } from '../../core/rows/agent-rows.js';
import type { JobSummary } from '../../core/rows/job.js';
import { publicInput } from '../shared/public-input.js';
import { type RowJobState, rowJob } from './row-job.js';

/**
 * `runAgentRows`: an agent run for every row of a CSV file (interface section 4.7), its output as columns of a warehouse.
 *
 * Start it by name with plain JSON, see `AgentRowsInput`. It is the job that `enrichCsv` runs with `operation: 'agent'`, with the same
 * signals, query and promise; never more runs are in progress than the team has places for. Cancelling it cancels its runs.
 * The second argument is its own, for continuing as new.
 */
export async function runAgentRows(input: AgentRowsInput, state?: RowJobState): Promise<JobSummary> {
  const checked = publicInput('runAgentRows', [input], { carried: state });
  return rowJob(toEnrichInput(checked), state, ({ staged }, nextState) =>
    continueAsNew<typeof runAgentRows>(staged ? { ...checked, staged } : checked, nextState),
  );
}
