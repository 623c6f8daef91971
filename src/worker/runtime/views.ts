import type { Output } from '../../api/outputs/index.js';
import type { Receiver } from '../../core/alerts/alert.js';
import type { WalkEntry } from '../../core/job-entry-schemas.js';
import type { LimiterView } from '../../core/limiter/limiter.js';
import type { SlotsInUse } from '../../core/limiter/slots.js';
import type { Published } from '../../core/publish-request.js';
import type { UnknownOutcome } from '../../core/purchase/journal.js';
import type { Spend } from '../../core/purchase/spend.js';
import type { JobSummary, Resumption } from '../../core/row-job-schemas.js';
import type { Work } from '../../core/rows/job-entries.js';
import type { FailedFilter } from '../../core/rows/loaded-row.js';
import type { CsvForm } from '../../core/rows/row-warehouse.js';
import type { OtherLimit, WatchedRun } from '../../core/workflow-result-schemas.js';
import type {
  CleanWish,
  EnrichRequest,
  FailedSelection,
  JobListing,
  JobPlan,
  JobStatus,
  KnownJob,
  Ownership,
  Reparsed,
  RetryPlan,
  RuntimeConfig,
  WorkflowAccess,
} from '../config/runtime-types.js';
import type { ForgetPlan } from '../control/forget.js';
import type { ForgetWish } from '../control/forget-subjects.js';
import type { JobHandle } from '../control/job-handle.js';
import type { PublishWish } from './publish.js';
import type { TracedName } from './traced-rows.js';

export interface PlanOptions {
  /** Whether the run will follow without a question. Then the Temporal server starts while many rows are read. Default: no. */
  readonly isAgreed?: boolean;
}

/** The row jobs of a folder, or of its store. */
export interface RowJobs {
  /** Reads and stages the input, and returns a preview of a run. Buys nothing, and needs no Temporal server. */
  plan(request: EnrichRequest, options?: PlanOptions): Promise<JobPlan>;
  /** Throws `UsageError` if the publish at the end of the run is known to fail. Reads the target only. */
  checkPublish(plan: JobPlan): Promise<void>;
  /** Starts a job, resumes it if it is paused, or attaches to it if it is running. Starts server and worker as needed. */
  start(plan: JobPlan, whose?: Ownership): Promise<JobHandle>;
  /**
   * Resumes a job: continues a paused job, and starts a stopped, cancelled or failed job again. This command then owns the job, unless
   * another command owns it.
   */
  resume(job: string, how: Resumption, whose?: Ownership): Promise<JobHandle>;
  /** A job by its id, or by its name if that is unique, for status, pause and cancel. Throws `UsageError` if there is no such job. */
  attach(job: string): Promise<JobHandle>;
  /**
   * Returns a preview of buying failed rows of a complete job again. Buys nothing, and needs no Temporal server. Throws `UsageError` for
   * unknown tags and rows, and if the job is not complete.
   */
  planRetry(job: string, selection: FailedSelection): Promise<RetryPlan>;
  /** Marks the rows of a plan and starts a run of their job that buys only these. `maxCostDollars`: the cap of the run. */
  retry(plan: RetryPlan, how: Pick<Resumption, 'maxCostDollars'>): Promise<JobHandle>;
  /** Discards failed rows of a job that is not running, or undoes that. Buys nothing, and needs no Temporal server. */
  discard(job: string, what: FailedSelection & { readonly undo: boolean }): Promise<Output<'discarded'>>;
  /** Status of a job. Asks a running server, but starts none. */
  status(job: string): Promise<JobStatus>;
  /** Summary of a complete job from warehouse and journal, without Temporal. */
  summary(job: string): Promise<JobSummary>;
  unknownOutcomes(job: string): Promise<readonly UnknownOutcome[]>;
  /** Cost of all runs of a job in micro-dollars, from the journal. */
  costMicros(job: string): Promise<number>;
  /** Throws `UsageError` if an export of the job must not write to one of these paths. Changes nothing. */
  checkTargets(job: string, targets: { readonly csv?: string; readonly parquet?: string }): Promise<void>;
  /** Writes the enriched CSV of a job from its warehouse, without Temporal. `form`: fields that differ from those of the job. */
  export(
    job: string,
    csv: string,
    form?: Partial<CsvForm>,
  ): Promise<{ readonly rows: number; readonly bytes: number; readonly file: string }>;
  /** Writes the rows of a job as Parquet files into a directory of their own, without Temporal. */
  exportParquet(
    job: string,
    dir: string,
  ): Promise<{ readonly rows: number; readonly files: number; readonly bytes: number; readonly folder: string }>;
  /** The failed rows of a job, from its warehouse and the journal, without Temporal. */
  failed(job: string, filter: FailedFilter): Promise<Output<'failed'>>;
  /** Traces one row from its input to its warehouse. Asks a running server, but starts none. */
  trace(job: string, asked: TracedName): Promise<Output<'trace'>>;
  /** Parses again the answers in the plan's warehouse that could not be parsed; buys nothing. */
  reparse(plan: JobPlan): Promise<Reparsed>;
}

/** The jobs and walks of a folder, or of its store. All lists are newest first. */
export interface JobLists {
  /** The jobs and walks, without Temporal. */
  known(): Promise<readonly KnownJob[]>;
  /** The jobs and walks with their status. Asks a running server, but starts none. */
  list(): Promise<readonly JobListing[]>;
  /** The walks on events, without Temporal. */
  walks(): Promise<readonly WalkEntry[]>;
}

/** The work that a command owns: work that ends with its command. */
export interface OwnWork {
  /** Makes this command the owner of work that it is about to start, or a watcher if another command owns it; runs the worker here. */
  own(work: Work): Promise<void>;
  /**
   * Throws `UsageError` if work cannot belong to the workers from its start: no worker runs that does not end with a command, or another
   * command owns `work`.
   */
  checkDetached(work?: Work): Promise<void>;
  /** The work that this command owns. */
  owned(): Promise<readonly Work[]>;
  /** Whether all commands that owned the work have ended, and no worker has taken it over. */
  isAbandoned(workflowId: string): Promise<boolean>;
  /** Makes the workers the owner of work that waits for a person. */
  release(workflowId: string): Promise<void>;
  /** Stops the work that this command owns; work that has not stopped when `until` resolves is terminated. */
  stop(until: Promise<unknown>): Promise<void>;
}

/** Limits and spending of the team. */
export interface TeamView {
  limits(): Promise<LimiterView>;
  /** Ends the block of the team. Returns whether the work that Temporal keeps until the end of the block continues at once. */
  unblock(): Promise<boolean>;
  /** Other workers on the same task queue with a rate limit of their own. */
  otherLimits(): Promise<readonly OtherLimit[]>;
  /**
   * PID of the other process that runs this folder's worker: only that process knows the use of limits. Null if no other process runs the
   * worker, and for a shared store.
   */
  workerElsewhere(): number | null;
  /** Slots for runs at the service. */
  slots(): Promise<SlotsInUse>;
  /** The team's spending and caps. */
  spend(): Promise<Spend>;
}

/** What a command can do in a folder. Server, worker and warehouses are opened when they are needed. */
export interface Runtime {
  /** Whether other workers share the store, and keep running when this process ends. */
  readonly shared: boolean;
  /**
   * Why this process is only a client: another process of this folder runs the worker (`folder`), or the workers of the task queue have
   * versions (`version`); null: it is not.
   */
  readonly clientOnly: 'folder' | 'version' | null;
  readonly rows: RowJobs;
  readonly jobs: JobLists;
  readonly work: OwnWork;
  readonly team: TeamView;
  /** Sends a test alert to each receiver. Throws `UsageError` without one. */
  testAlerts(): Promise<readonly { readonly receiver: Receiver; readonly error: string | null }[]>;
  /** Copies a job, events or monitors to a target, without Temporal. */
  publish(wish: PublishWish): Promise<Published>;
  /** Removes the state of done jobs that nothing needs, without Temporal. The records of purchases stay. */
  clean(wish: CleanWish): Promise<Output<'cleaned'>>;
  /** Finds the data of a job or a URL, without Temporal. Changes nothing. */
  planForget(wish: ForgetWish): Promise<ForgetPlan>;
  /** Removes the data of a plan from store and warehouses. The costs and the hashes of units stay. `step` gets each step. */
  forget(plan: ForgetPlan, step?: (what: string) => void): Promise<Output<'forgotten'>>;
  /** Reads the figures of a report from store and warehouses. Starts no server. */
  report(wish: ReportWish): Promise<Output<'report'>>;
  /** Access to the workflows of walks, monitors, agents and schedules. `worker: true` also runs the worker here. */
  workflows(options?: { readonly worker?: boolean }): Promise<WorkflowAccess>;
  /**
   * Runs the worker until closed (`searchflow worker`, `searchflow dev`). `running` is called once the worker is ready, `report` for each
   * run that starts or ends.
   */
  runWorker(running: () => void, report: (run: WatchedRun) => void): Promise<void>;
  /**
   * For a process that is only a client: runs the worker here once the other process has ended; false until then. Throws if the worker
   * cannot be run; the call may then be repeated.
   */
  takeOver(): Promise<boolean>;
  /** Number of paid requests that this process has sent and that have no answer yet. */
  inFlight(): number;
  /** `drain`: starts nothing more, lets paid requests in flight land (10 s at most) and releases everything. `now`: closes at once. */
  close(mode: 'drain' | 'now'): Promise<void>;
}

/** A range of UTC days, Unix ms; `until` is the end of the last day. */
export interface ReportWish {
  /** Name or id of a job; null: the team. */
  readonly job: string | null;
  readonly since: number;
  readonly until: number;
}

export type OpenRuntime = (config: RuntimeConfig) => Promise<Runtime>;
