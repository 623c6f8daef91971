import { defineQuery, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow';
import type { SyncRunsSlice } from '../../activities/operations/agent-run-sync.js';
import { type AgentRunSyncState, DEFAULT_AGENT_WAREHOUSE } from '../../core/agent-run-sync.js';
import { queryNames } from '../../core/rows/job-names.js';
import type { SyncAgentRunsInput } from '../../core/workflow-input-schemas.js';
import type { AgentRunSync } from '../../core/workflow-result-schemas.js';
import { toWorkflowFailure } from '../shared/failures.js';
import { bulkPolicy } from '../shared/policies.js';
import { forFirst, publicInput } from '../shared/public-input.js';
import { summarizedActivities } from '../shared/summarized-activities.js';
import { setVersioning } from '../shared/versioning.js';

const progressQuery = defineQuery<AgentRunSync>(queryNames.progress);
const { syncRunSlice } = summarizedActivities(bulkPolicy, { syncRunSlice: 'load new and unfinished agent runs' });

/**
 * `syncAgentRuns`: loads all agent runs of the team into a warehouse, whichever client started them. The workflow reads the list of runs from
 * the newest to 15 minutes before its watermark, once a day two days further, and reads again each loaded run that had not ended. All calls
 * are free. Start the workflow by name with plain JSON, see `SyncAgentRunsInput`. API reference: /agent/runs.
 */
export async function syncAgentRuns(input?: SyncAgentRunsInput, ...extra: []): Promise<AgentRunSync> {
  const { into = DEFAULT_AGENT_WAREHOUSE, host, origin } = publicInput('syncAgentRuns', [input ?? {}], { extra });
  const step = { origin, host, into, mark: workflowInfo().firstExecutionRunId };
  let progress: AgentRunSync = {
    ...{ into, pages: 0, runs: 0, added: 0, changed: 0, gone: 0 },
    ...{ unfinished: 0, watermark: null },
  };
  setHandler(progressQuery, () => progress);
  try {
    // Each activity takes up to a minute, so even the first sync of a long history has a short history here.
    for (let before: AgentRunSyncState | null = null; ; ) {
      const { state, end }: SyncRunsSlice = await syncRunSlice(forFirst({ ...step, state: before }));
      before = state;
      const { pages, runs, added, changed, gone } = state;
      progress = { ...progress, pages, runs, added, changed, gone, ...end };
      setCurrentDetails(`${runs} agent runs read, ${added} new, ${changed} changed`);
      if (end !== null) return progress;
    }
  } catch (error) {
    throw toWorkflowFailure(error);
  }
}

setVersioning('stays', syncAgentRuns);
