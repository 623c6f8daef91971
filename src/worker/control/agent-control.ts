import { agentKeys } from '../../activities/rows/agent-purchase.js';
import { DEFAULT_AGENT_WAREHOUSE } from '../../core/agent-run-sync.js';
import { jobOfWorkflow } from '../../core/rows/job-ids.js';
import { workflowNames } from '../../core/rows/job-names.js';
import { canonicalJson } from '../../core/text/json.js';
import { staticSummary } from '../../core/text/static-summary.js';
import type { AgentRequest, RunAgentOptions, ScheduledWork } from '../../core/workflow-input-schemas.js';
import type { AgentRunResult, AgentRunSync, RunProgress, RunSnapshot } from '../../core/workflow-result-schemas.js';
import { warehouseIdentity } from '../../warehouse/index.js';
import type { RuntimeConfig, WorkflowAccess } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { targetOf } from './event-control.js';
import { startedByCommand } from './work-owners.js';
import { WorkflowHandle } from './workflow-handle.js';

export function agentRunId(
  { origin }: Pick<RuntimeConfig, 'origin'>,
  request: AgentRequest,
  { beta, extraHeaders }: RunAgentOptions,
): string {
  const wire = { beta, extraHeaders };
  return `searchflow-agent-${agentKeys({ origin, sha256 }, wire)(canonicalJson(request)).slice(0, 12)}`;
}

/** Starts the workflow of an agent run, or attaches to a running workflow of the same request. */
export async function startAgentRun(
  { client, config }: WorkflowAccess,
  request: AgentRequest,
  options: RunAgentOptions,
): Promise<AgentRunHandle> {
  const workflowId = agentRunId(config, request, options);
  await client.workflow.start(workflowNames.runAgent, {
    workflowId,
    taskQueue: config.taskQueue,
    args: [request, options],
    ...staticSummary('one agent run'),
    workflowIdConflictPolicy: 'USE_EXISTING',
    memo: startedByCommand,
  });
  return new AgentRunHandle(client, workflowId);
}

/** The work of a sync of agent runs, also for a schedule, and the default name of that schedule. One warehouse has one sync at a time. */
export function syncWork(access: WorkflowAccess, into: string | undefined, cwd: string) {
  const { origin } = access.config;
  const input = targetOf(access, into, DEFAULT_AGENT_WAREHOUSE, cwd);
  const identity = canonicalJson([warehouseIdentity(input.into), origin]);
  const workflowId = `searchflow-agents-sync-${sha256(identity).slice(0, 6)}`;
  const { syncAgentRuns: workflow } = workflowNames;
  return { name: jobOfWorkflow(workflowId), work: { workflow, workflowId, input: { ...input, origin } } };
}

export async function startSync(
  { client, config, allow }: WorkflowAccess,
  { workflow, workflowId, input }: ScheduledWork,
): Promise<WorkflowHandle<AgentRunSync, AgentRunSync>> {
  await allow(input);
  await client.workflow.start(workflow, {
    workflowId,
    taskQueue: config.taskQueue,
    args: [input],
    ...staticSummary('sync of agent runs'),
    workflowIdConflictPolicy: 'USE_EXISTING',
    memo: startedByCommand,
  });
  return new WorkflowHandle<AgentRunSync, AgentRunSync>(client, workflowId);
}

export class AgentRunHandle extends WorkflowHandle<RunProgress, AgentRunResult> {
  /** The run's current state, from the heartbeat of the activity that follows it; null if no activity follows the run. */
  async snapshot(): Promise<RunSnapshot | null> {
    const following = (await this.activities()).find(({ type }) => type === 'agentRun');
    return (following?.heartbeat as RunSnapshot | null | undefined) ?? null;
  }
}
