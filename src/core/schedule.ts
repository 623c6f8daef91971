import type { AgentRunSync, SyncAgentRunsInput } from './agent-run-sync.js';
import type { SyncEventsInput, WalkSummary } from './events/walk-job.js';
import type { BatchMonitorsInput } from './monitors/monitor-batch.js';
import type { BatchSummary } from './monitors/monitor-effect.js';
import type { ExportMonitorRunsInput, MonitorExport } from './monitors/monitor-warehouse.js';
import type { EnrichCsvInput, JobSummary } from './rows/job.js';

/** Workflows that a schedule can run, with their inputs. */
export interface ScheduledInputs {
  readonly enrichCsv: EnrichCsvInput;
  readonly syncEvents: SyncEventsInput;
  readonly exportMonitorRuns: ExportMonitorRunsInput;
  readonly batchMonitors: BatchMonitorsInput;
  readonly syncAgentRuns: SyncAgentRunsInput;
}
export type ScheduledWorkflow = keyof ScheduledInputs;

/** The work of a scheduled run: one of the workflows, under the fixed id of its job. */
export type ScheduledWork = {
  readonly [Workflow in ScheduledWorkflow]: {
    readonly workflow: Workflow;
    /** Id of the job's own workflow. If a workflow with this id is running, the scheduled run is skipped. */
    readonly workflowId: string;
    readonly input: ScheduledInputs[Workflow];
  };
}[ScheduledWorkflow];

/** Input of the `scheduledJob` workflow: plain JSON, usable from any Temporal SDK. */
export type ScheduledJobInput = ScheduledWork & {
  /** Name of the schedule. */
  readonly schedule: string;
  /** The timing as a text, for lists. */
  readonly when?: string;
};

/** How a scheduled run ended. A failed run has no outcome, because its workflow failed. */
export interface ScheduledOutcome {
  readonly schedule: string;
  /** `stopped`: a person must fix a problem, see `message`; the next run continues. `skipped`: the job was already running. */
  readonly phase: 'done' | 'stopped' | 'skipped';
  readonly message: string | null;
  /** Summary of the job; null if the run was skipped. */
  readonly summary: JobSummary | WalkSummary | MonitorExport | BatchSummary | AgentRunSync | null;
}

/** A run of a schedule. */
export interface ScheduledRun {
  readonly workflowId: string;
  /** Unix ms. */
  readonly at: number;
  /**
   * `waiting`: no worker is running that could continue the run. `forgotten`: Temporal has deleted the result of the workflow after its
   * retention time.
   */
  readonly phase: ScheduledOutcome['phase'] | 'running' | 'waiting' | 'failed' | 'cancelled' | 'forgotten';
  readonly message: string | null;
  readonly summary: ScheduledOutcome['summary'];
}

/** A run of a workflow on this worker. The run is reported as `running` first, and again when it has ended. */
export interface WatchedRun extends Pick<ScheduledRun, 'phase' | 'message' | 'summary'> {
  readonly job: string;
  readonly workflowType: string;
}
