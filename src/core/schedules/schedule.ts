import type { SyncEventsInput, WalkSummary } from '../events/walk-job.js';
import type { ExportMonitorRunsInput, MonitorExport } from '../monitors/monitor-export.js';
import type { EnrichCsvInput, JobSummary } from '../rows/job.js';

/** Workflows that a schedule runs again and again, with their inputs. */
export interface ScheduledInputs {
  readonly enrichCsv: EnrichCsvInput;
  readonly syncEvents: SyncEventsInput;
  readonly exportMonitorRuns: ExportMonitorRunsInput;
}
export type ScheduledWorkflow = keyof ScheduledInputs;

/** What a scheduled run runs: one of the workflows, under the id that its job always has. */
export type ScheduledWork = {
  readonly [Workflow in ScheduledWorkflow]: {
    readonly workflow: Workflow;
    /** Id of the job's own workflow: where it runs already, somebody else's run goes on and this one is left out. */
    readonly workflowId: string;
    readonly input: ScheduledInputs[Workflow];
  };
}[ScheduledWorkflow];

/** Input of the `scheduledJob` workflow: plain JSON, usable from any Temporal SDK. */
export type ScheduledJobInput = ScheduledWork & {
  /** Name of the schedule. */
  readonly schedule: string;
  /** When it runs, in words, for whoever lists it. */
  readonly when?: string;
};

/** How a scheduled run ended; a run that failed has no outcome, its workflow failed. */
export interface ScheduledOutcome {
  readonly schedule: string;
  /** `stopped`: something that a person mends, see `message`; the next run goes on. `skipped`: the job ran already. */
  readonly phase: 'done' | 'stopped' | 'skipped';
  readonly message: string | null;
  /** Of the job; null where it was not run. */
  readonly summary: JobSummary | WalkSummary | MonitorExport | null;
}

/** A run of a schedule. */
export interface ScheduledRun {
  readonly workflowId: string;
  /** Unix ms. */
  readonly at: number;
  /** `waiting`: no worker runs that could go on with it. `forgotten`: Temporal keeps the results of workflows for a while only. */
  readonly phase: ScheduledOutcome['phase'] | 'running' | 'waiting' | 'failed' | 'cancelled' | 'forgotten';
  readonly message: string | null;
  readonly summary: ScheduledOutcome['summary'];
}

/** A run of a workflow that this worker works on: first as `running`, then how it ended. */
export interface WatchedRun extends Pick<ScheduledRun, 'phase' | 'message' | 'summary'> {
  readonly job: string;
  readonly workflowType: string;
}
