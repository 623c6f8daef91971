import type { EnrichCsvInput } from './row-job-schemas.js';
import type {
  BatchMonitorsInput,
  ExportMonitorRunsInput,
  SyncAgentRunsInput,
  SyncEventsInput,
} from './workflow-input-schemas.js';
import type { ScheduledOutcome } from './workflow-result-schemas.js';

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
