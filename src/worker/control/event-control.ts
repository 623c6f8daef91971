import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { agentKeys } from '../../activities/rows/agent-purchase.js';
import { DEFAULT_AGENT_WAREHOUSE } from '../../core/agent-run-sync.js';
import { DEFAULT_EVENT_WAREHOUSE, inputOfStream, streamOf, type WalkInput } from '../../core/events/walk-job.js';
import type { WalkEntry } from '../../core/job-entry-schemas.js';
import { jobOfWorkflow, workflowIdOf } from '../../core/rows/job-ids.js';
import { startedByUs, workflowNames } from '../../core/rows/job-names.js';
import { canonicalJson } from '../../core/text/json.js';
import { staticSummary } from '../../core/text/static-summary.js';
import type { AgentRequest, RunAgentOptions, ScheduledWork } from '../../core/workflow-input-schemas.js';
import type { AgentRunResult, AgentRunSync, RunProgress, RunSnapshot } from '../../core/workflow-result-schemas.js';
import { warehouseIdentity } from '../../warehouse/index.js';
import type { Ownership, RuntimeConfig, WorkflowAccess } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { hostField, warehouseOf } from '../config/warehouse-setting.js';
import { walkName } from '../store/event-status.js';
import { WalkHandle } from './job-handle.js';
import { startedByCommand } from './work-owners.js';
import { WorkflowHandle } from './workflow-handle.js';

/** The warehouse of some work: its address without credentials and, for a file of a shared store, the host that has the file. */
export interface Target {
  readonly into: string;
  readonly host?: string;
}

/** `into`, else the warehouse of the settings, else `usual`. */
export function targetOf(
  { config, shared }: Pick<WorkflowAccess, 'config' | 'shared'>,
  into: string | undefined,
  usual: string,
  cwd: string,
): Target {
  const address = warehouseOf(config, into, usual, cwd);
  return { into: address, ...hostField(address, shared) };
}

export class EventControl {
  readonly #access: WorkflowAccess;
  readonly #cwd: string;

  constructor(access: WorkflowAccess, cwd: string) {
    this.#access = access;
    this.#cwd = cwd;
  }

  target(into: string | undefined): Target {
    return targetOf(this.#access, into, DEFAULT_EVENT_WAREHOUSE, this.#cwd);
  }

  /**
   * Name and workflow id of a walk. Both are made from the stream, the warehouse and the service, so that only one such walk runs at a
   * time.
   */
  work<Input extends WalkInput & Target>(
    input: Input,
  ): { readonly job: string; readonly workflowId: string; readonly input: Input & { readonly origin: string } } {
    const { origin } = this.#access.config;
    const stream = streamOf(input);
    const hash = sha256(canonicalJson([stream, warehouseIdentity(input.into), input.host ?? null, origin])).slice(0, 6);
    const job = `${walkName({ stream })}-${hash}`;
    return { job, workflowId: workflowIdOf(job), input: { ...input, origin } };
  }

  /** Starts a walk. If the walk is already running, resumes it (`joined`). */
  async start(
    walk: WalkInput & Target,
    whose?: Ownership,
  ): Promise<{ readonly handle: WalkHandle; readonly joined: boolean }> {
    const { job, workflowId, input } = this.work(walk);
    await this.#access.allow(input);
    return this.#start({ job, workflowId }, input, whose);
  }

  /** Resumes a running walk. A walk that is not running is started again from its position in the warehouse. */
  async resume(walk: WalkEntry, whose?: Ownership): Promise<WalkHandle> {
    const { stream, into, host, origin } = walk;
    const input = { ...inputOfStream(stream), into, origin, host };
    return (await this.#start(walk, input, whose)).handle;
  }

  async #start(
    { job, workflowId }: Pick<WalkEntry, 'job' | 'workflowId'>,
    { kind, ...args }: WalkInput,
    { detached = false }: Ownership = {},
  ): Promise<{ readonly handle: WalkHandle; readonly joined: boolean }> {
    const { client, config } = this.#access;
    const handle = new WalkHandle(client, workflowId, job);
    try {
      await client.workflow.start(kind === 'sync' ? workflowNames.syncEvents : workflowNames.backfillEvents, {
        workflowId,
        taskQueue: config.taskQueue,
        args: [args],
        ...staticSummary(`${kind} of webset events`),
        memo: detached ? startedByUs : startedByCommand,
      });
      return { handle, joined: false };
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      // The walk is already running, so the command resumes it.
      await handle.resume();
      return { handle, joined: true };
    }
  }
}

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
