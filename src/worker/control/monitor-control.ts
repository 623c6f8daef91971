import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { misspeltFields, WAY_PAST } from '../../api/checks/misspelt-fields.js';
import { listMonitorsEndpoint } from '../../api/endpoints/monitors.js';
import { DEFAULT_MONITOR_WAREHOUSE, monitorUpdates, monitorWorkflows } from '../../core/monitors/monitor-names.js';
import type { Work } from '../../core/rows/job-entries.js';
import { jobOfWorkflow, workflowIdOf } from '../../core/rows/job-ids.js';
import { startedByUs } from '../../core/rows/job-names.js';
import { whyNoPath } from '../../core/rows/source-fields.js';
import { canonicalJson, type Json } from '../../core/text/json.js';
import { staticSummary } from '../../core/text/static-summary.js';
import type {
  BatchMonitorsInput,
  ExportMonitorRunsInput,
  MonitorCall,
  ScheduledWork,
} from '../../core/workflow-input-schemas.js';
import type {
  BatchProgress,
  BatchSummary,
  CreatedMonitorResult,
  MonitorExport,
} from '../../core/workflow-result-schemas.js';
import { makeFolder } from '../../files/make-folder.js';
import { withLock } from '../../files/process-lock.js';
import { writeDurably } from '../../files/write-durably.js';
import { FileSecrets } from '../../store/process/file-secrets.js';
import { warehouseIdentity } from '../../warehouse/index.js';
import { type Ownership, UsageError, type WorkflowAccess } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { type Target, targetOf } from './event-control.js';
import { describeWorkflow } from './pending-activity.js';
import { startedByCommand } from './work-owners.js';
import { WorkflowHandle } from './workflow-handle.js';

export class MonitorControl {
  readonly #access: WorkflowAccess;
  readonly #cwd: string;

  constructor(access: WorkflowAccess, cwd: string) {
    this.#access = access;
    this.#cwd = cwd;
  }

  target(into: string | undefined): Target {
    return targetOf(this.#access, into, DEFAULT_MONITOR_WAREHOUSE, this.#cwd);
  }

  /**
   * Name and workflow id of a batch. Both are made from the action, the filter and the warehouse, so that only one such batch runs at a
   * time.
   */
  batchWork({ action, filter = {}, into, schedule, ofSchedule }: BatchMonitorsInput): Work {
    const { origin } = this.#access.config;
    const identity = [action, filter, identityOf(into), origin, ...[schedule, ofSchedule].filter(Boolean)];
    const job = `monitors-${action}-${sha256(canonicalJson(identity)).slice(0, 6)}`;
    return { job, workflowId: workflowIdOf(job) };
  }

  /** The work of a schedule of a batch. The audit has the name of the schedule, so that another batch can undo what it paused. */
  scheduledBatch(input: BatchMonitorsInput, schedule: string): ScheduledWork {
    const named = { ...input, schedule, origin: this.#access.config.origin };
    return { workflow: monitorWorkflows.batchMonitors, workflowId: this.batchWork(named).workflowId, input: named };
  }

  /** Starts a batch, or attaches to it if it is already running. A batch that waits for an approval belongs to the workers (`owned: false`). */
  async startBatch(input: BatchMonitorsInput, { owned }: { readonly owned: boolean }): Promise<BatchHandle> {
    const { origin } = this.#access.config;
    const handle = this.batch(this.batchWork(input).job);
    await this.#start(
      monitorWorkflows.batchMonitors,
      handle.workflowId,
      { ...input, origin },
      owned ? startedByCommand : undefined,
    );
    return handle;
  }

  batch(job: string): BatchHandle {
    return new BatchHandle(this.#access.client, workflowIdOf(job), job);
  }

  /** Starts a run of a monitor, which costs money: the worker writes an intent, and the call is never repeated. Returns its answer. */
  async trigger(id: string): Promise<Json> {
    const input: MonitorCall = { operation: 'triggerMonitor', input: { id }, origin: this.#access.config.origin };
    const workflowId = `searchflow-triggerMonitor-${Date.now().toString(36)}-${process.pid}`;
    const handle = await this.#start<never, { readonly data: Json }>(monitorWorkflows.monitorCall, workflowId, input);
    return (await handle.result()).data;
  }

  /**
   * Creates a monitor, or attaches to a running creation of the same definition. If a killed command created the monitor and did not report
   * it, that monitor is returned (`before`) and no other is created. Throws `UsageError` if the secret file cannot be written.
   */
  async create(
    definition: { readonly [field: string]: Json },
    secretFile: string,
    unchecked?: boolean,
  ): Promise<{ readonly made: CreatedMonitorResult; readonly before: boolean }> {
    const file = resolve(this.#cwd, secretFile);
    const noPath = whyNoPath(secretFile, process.platform);
    if (noPath !== null) throw new UsageError('secret-file-unusable', `--secret-file: the value (not shown) ${noPath}`);
    await checkWritable(file);
    const { origin } = this.#access.config;
    const input = {
      definition,
      unchecked,
      secretFile: file,
      origin,
      host: this.#access.shared ? hostname() : undefined,
    };
    const id = `searchflow-monitors-create-${sha256(canonicalJson([definition, file, origin])).slice(0, 6)}`;
    const before = await this.#isUnreported(id);
    const handle = before
      ? new WorkflowHandle<never, CreatedMonitorResult>(this.#access.client, id)
      : await this.#start<never, CreatedMonitorResult>(monitorWorkflows.createMonitor, id, input);
    const made = await handle.result();
    const { runId } = await this.#access.client.workflow.getHandle(id).describe();
    await noteReported(this.#access.config.stateDir, runId);
    return { made, before };
  }

  /** Starts an export of runs, or attaches to it if it is already running. */
  async export(
    input: ExportMonitorRunsInput,
    { detached = false }: Ownership = {},
  ): Promise<WorkflowHandle<MonitorExport, MonitorExport>> {
    const { workflow, workflowId, input: named } = this.exportWork(input).work;
    return this.#start(workflow, workflowId, named, detached ? startedByUs : startedByCommand);
  }

  attachExport(job: string): WorkflowHandle<MonitorExport, MonitorExport> {
    return new WorkflowHandle(this.#access.client, workflowIdOf(job), job);
  }

  /** The work of a schedule of an export, and the default name of that schedule. */
  exportWork(input: ExportMonitorRunsInput): { readonly name: string; readonly work: ScheduledWork } {
    const { origin } = this.#access.config;
    const [wrong] = input.unchecked
      ? []
      : misspeltFields({ ...listMonitorsEndpoint, name: 'monitors' }, input.filter, []);
    if (wrong) throw new UsageError('request-invalid', `${wrong.message} ${WAY_PAST}`);
    const workflowId = exportId(input, origin);
    return {
      name: jobOfWorkflow(workflowId),
      work: { workflow: monitorWorkflows.exportMonitorRuns, workflowId, input: { ...input, origin } },
    };
  }

  /** Whether a workflow of this folder has completed and no command has reported the result of the workflow. */
  async #isUnreported(workflowId: string): Promise<boolean> {
    // In a shared store the workflow may belong to another command.
    if (this.#access.shared) return false;
    const about = await describeWorkflow(this.#access.client, workflowId);
    return about?.status.name === 'COMPLETED' && !isReported(this.#access.config.stateDir, about.runId);
  }

  async #start<P, R>(
    workflow: string,
    workflowId: string,
    input: object,
    memo?: typeof startedByUs | typeof startedByCommand,
  ): Promise<WorkflowHandle<P, R>> {
    const { client, config } = this.#access;
    await this.#access.allow(input);
    await client.workflow.start(workflow, {
      workflowId,
      taskQueue: config.taskQueue,
      args: [input],
      ...staticSummary(`${workflow} of searchflow monitors`),
      workflowIdConflictPolicy: 'USE_EXISTING',
      memo,
    });
    return new WorkflowHandle<P, R>(client, workflowId);
  }
}

export class BatchHandle extends WorkflowHandle<BatchProgress, BatchSummary> {
  /** Approves or rejects a batch; rejects with a `UsageError` if the batch does not wait for an approval. */
  decide(how: keyof typeof monitorUpdates, by: string, why: string | undefined): Promise<BatchProgress> {
    return this.update(monitorUpdates[how], { by, why });
  }
}

/** Writes the secret file without a change, so that an unwritable file is detected before anything is sent. Throws `UsageError`. */
async function checkWritable(secretFile: string): Promise<void> {
  try {
    await new FileSecrets(secretFile).remove('webhook/');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(
      'secret-file-unusable',
      `--secret-file: ${secretFile} cannot be written: ${why}. Nothing was sent`,
    );
  }
}

/** Identity of a warehouse without its connection parameters; undefined if no warehouse is named. */
function identityOf(into: string | undefined): string | undefined {
  return into === undefined ? undefined : warehouseIdentity(into);
}

function exportId({ filter = {}, into }: ExportMonitorRunsInput, origin: string): string {
  return `searchflow-monitors-export-${sha256(canonicalJson([filter, identityOf(into), origin])).slice(0, 6)}`;
}

const LOCK_MS = 10_000;

const reportedIn = (stateDir: string): string => join(stateDir, 'reported-results');

function readReported(stateDir: string): string {
  try {
    return readFileSync(reportedIn(stateDir), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/**
 * Whether a command of this folder has reported the result of a run. The workflow of a killed command may complete on the next worker. The
 * result of such a workflow still has to be reported.
 */
export const isReported = (stateDir: string, runId: string): boolean =>
  readReported(stateDir).split('\n').includes(runId);

export async function noteReported(stateDir: string, runId: string): Promise<void> {
  makeFolder(stateDir);
  const file = reportedIn(stateDir);
  const write = () => writeDurably(file, `${readReported(stateDir)}${runId}\n`);
  await withLock(`${file}.lock`, write, { waitMs: LOCK_MS, passing: true });
}
