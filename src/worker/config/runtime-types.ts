import type { Client } from '@temporalio/client';
import type { WireOptions } from '../../api/transport.js';
import type { LimiterView } from '../../core/limiter/limiter.js';
import type { RateProfile } from '../../core/limiter/rate.js';
import type { SlotsView } from '../../core/limiter/slots.js';
import type { UnknownOutcome } from '../../core/purchase/journal.js';
import type { PriceTable } from '../../core/purchase/prices.js';
import type { Spend } from '../../core/purchase/spend.js';
import type {
  DefaultScheme,
  JobPhase,
  JobProgress,
  JobSummary,
  MaxCost,
  Resumption,
  SliceHeartbeat,
  StagedJob,
} from '../../core/rows/job.js';
import type { WalkEntry, Work } from '../../core/rows/job-entries.js';
import type { RowOperation } from '../../core/rows/row-operation.js';
import type { WatchedRun } from '../../core/schedules/schedule.js';
import type { Json } from '../../core/text/json.js';
import type { OtherLimit } from '../../core/text/presence.js';
import type { Secret } from '../../core/text/secret.js';
import type { UrlCells } from '../../rows/index.js';

export { UsageError } from '../../core/rows/exit-codes.js';
export type { UrlCells } from '../../rows/index.js';

/** A way to workflows that are no jobs of rows. */
export interface WorkflowAccess {
  readonly client: Client;
  /** Lets workflows name the files and the database of an input, which a person typed. */
  allow(input: object): Promise<void>;
  readonly config: RuntimeConfig;
  /** Workers on several machines share a store. */
  readonly shared: boolean;
}

/** Address of a database. `shown` names host, port, database and schema; user and password are in `url` alone. */
export interface DatabaseAddress {
  readonly url: Secret;
  readonly shown: string;
}

/** Everything the runtime needs to know, validated and frozen; made by `readConfig` from flags and environment. */
export interface RuntimeConfig {
  /** `sandbox`: the local stand-in, its data never passes for real. */
  readonly service: 'live' | 'sandbox';
  /** Part of every key: the base URL of the service, or `sandbox`. */
  readonly origin: string;
  /** Where requests go. */
  readonly baseUrl: string;
  readonly apiKey: Secret | null;
  /** Absolute; journal, stages, job registry, locks and the embedded server's database live here. Default `.searchflow`. */
  readonly stateDir: string;
  /** PostgreSQL that journal, limit, slots, stages and job entries are in, shared by many workers; none: the folder holds them. */
  readonly store?: DatabaseAddress | null;
  /** Name that joins the keys of a team; none: each key is a team of its own. */
  readonly team?: string | null;
  /** A process of the store that was not heard of for so many ms is dead; default 15 s. */
  readonly deadAfterMs?: number;
  /** A PostgreSQL warehouse with the credentials that jobs and histories don't hold. */
  readonly warehouse?: DatabaseAddress | null;
  /** Folders whose files the inputs of workflows may name, absolute; default the working folder. */
  readonly paths?: readonly string[];
  /** Database servers that they may name, as `host:port`, beside that of `warehouse`. */
  readonly hosts?: readonly string[];
  /** `host:port` where Prometheus finds the metrics; none: nowhere. */
  readonly metricsAddress?: string | null;
  /**
   * Where the user's limiters meet: a lock and the running block for each origin and key, so that two folders on one machine
   * don't own one limit twice. Absolute.
   */
  readonly userStateDir: string;
  /** Units a second of the team's limit, or a profile: one of `core/rate.ts` by its name, or itself. */
  readonly rate: { readonly qps: number } | { readonly profile: string | RateProfile };
  /** Units a second that this key alone may use of the team's limit; none: all of it. */
  readonly keyQps?: number | null;
  /** The rate was given for this process by name (`--qps`): a share beside others is meant. */
  readonly rateIsShare: boolean;
  /** Paid requests in flight at most; default enough to fill the limit at 5 s latency, at most 256. */
  readonly concurrency: number;
  /** Bodies of answers stay in the journal for so many ms after the warehouse holds their rows (`--keep-landing`, 7 days). */
  readonly keepLandingMs: number;
  /** Agent runs that the team may have in progress; default 50 (interface section 8). */
  readonly agentSlots?: number;
  /** Price tables in the place of those built in. */
  readonly prices?: readonly PriceTable[];
  /** A command asks before it buys for more than this, in micro-dollars; none: it never asks. */
  readonly askAboveMicros?: number;
  /** The most that one run of a job may cost on a worker with this configuration, in micro-dollars, whatever the run asks for; none: no bound. */
  readonly maxCostPerJobMicros?: number | null;
  /** File of secrets that the service tells once, mode 0600; none: operations that need it refuse. Absolute. */
  readonly secretFile?: string | null;
  /** How requests stand on the wire and which limits they are checked against, where not by the defaults. */
  readonly wire?: WireOptions;
  /** Null: the embedded server, or what the Temporal environment configuration names. */
  readonly temporalAddress: string | null;
  /** Port of the embedded server's web UI; none: it has none. */
  readonly temporalUi?: number | null;
  readonly namespace: string;
  readonly taskQueue: string;
  /** Told in a sentence what takes long (starting the server, waiting for a lock). */
  readonly say: (sentence: string) => void;
}

/** What a person asks of `searchflow enrich`. */
export interface EnrichRequest {
  /** Path of a CSV or `.csv.gz`, or `-` for standard input (then `job` is needed). */
  readonly input: string;
  /** What is bought for each row; default `contents`. */
  readonly operation?: RowOperation;
  /** The part of the request that is made of each row, for the other operations. */
  readonly template?: Json;
  /** Rows that an agent run gets together; default 1. */
  readonly rowsPerRun?: number;
  readonly urlColumn: string | null;
  /** Scheme for URLs that have none; absent: as in the job's last run. */
  readonly defaultScheme?: DefaultScheme;
  readonly delimiter: string | null;
  readonly job: string | null;
  readonly into: string | null;
  readonly csv: string | null;
  /** What all rows ask for alike, as it reaches the service; for contents empty means `{ text: true }`. */
  readonly options: StagedJob['options'];
  readonly batch: number;
  /** Ask for the first rows alone; absent: for all. */
  readonly limit?: number;
  /** Buy again what is older than this many milliseconds. */
  readonly refreshAfterMs: number | null;
  readonly retryFailed: boolean;
  readonly rebuy: boolean;
  /** Buy nothing: read what was paid for and not understood again. */
  readonly reparse?: boolean;
  /** What the run may cost; `none` lifts the bound of a run that has one, absent leaves it. */
  readonly maxCostDollars?: MaxCost;
  /** A run of a row that takes longer is left running; absent: 6 hours. */
  readonly maxRunSeconds?: number;
}

export interface BadRow {
  readonly row: number;
  readonly tag: string;
  /** `line 12, column 2 ("url"): …` */
  readonly message: string;
}

/** The rows of a job that its limit leaves unasked, and what is to be bought for them. */
export interface RestPlan {
  readonly rows: number;
  readonly toBuy: number;
  readonly requests: number;
  readonly estimateMicros: number;
}

/** What a run of the job would do. Nothing was bought to make it. Amounts in micro-dollars. */
export interface JobPlan {
  readonly staged: StagedJob;
  readonly request: EnrichRequest;
  /** `new`, or where the job stands. `complete`: nothing to buy, nothing to load. */
  readonly status: 'new' | 'unfinished' | 'changed' | 'complete';
  readonly alreadyBought: number;
  readonly toBuy: number;
  readonly requests: number;
  readonly estimateMicros: number;
  /** The price is metered: the estimate is the most that it may come to. */
  readonly estimateIsMost: boolean;
  /** Seconds at the configured limit; for what runs on at the service as many minutes as fifty at a time take, a minute each. */
  readonly seconds: number;
  /** Requests a second that the configured limit allows. */
  readonly perSecond: number;
  readonly badRows: readonly BadRow[];
  /** What is in the column of URLs, and how that was found; null or absent where there is none. */
  readonly urlCells?: UrlCells | null;
  /** Bad rows among those that a limit asks for; absent where all rows are asked for. */
  readonly limitedBadRows?: number;
  /** What the rows beyond `limit` would cost; null or absent where all rows are asked for. */
  readonly rest?: RestPlan | null;
  /** What the worker allows a run of a job, in micro-dollars (`maxCostPerJobMicros`); null or absent: no bound. */
  readonly allowedMicros?: number | null;
  /** Sentences a person should read: other options, pruned bodies, a locked warehouse. */
  readonly notes: readonly string[];
}

/** What reading answers again came to. */
export interface Reparsed {
  /** Answers that were not understood, wholly or in part; how many of them are now; rows that were updated. */
  readonly answers: number;
  readonly understood: number;
  readonly rows: number;
}

export interface JobHandle {
  readonly job: string;
  readonly workflowId: string;
  /** From the workflow, with the running slices' heartbeats. */
  progress(): Promise<{ readonly progress: JobProgress; readonly running: readonly SliceHeartbeat[] }>;
  pause(): Promise<void>;
  /** May raise, lower or lift what the run may cost. */
  resume(how?: Resumption): Promise<void>;
  /** Agent runs in progress are cancelled, too, unless handed over: another run of the job takes them. */
  cancel(how?: { readonly handOver?: boolean }): Promise<void>;
  /** Waits for the end. A failed job rejects with `JobFailed`, one that was stopped by force with `JobStopped`. */
  result(): Promise<JobSummary>;
  /** How its last run ended, and why, where it failed or was stopped; null where it goes on, or ended otherwise. Needs no worker. */
  ending(): Promise<{ readonly phase: 'failed' | 'stopped'; readonly message: string } | null>;
}

/** The job ended without success; the message is one sentence with the way out. */
export class JobFailed extends Error {
  override readonly name = 'JobFailed';
}

/** Whether something ended because it was cancelled. */
export function wasCancelled({ cause }: JobFailed): boolean {
  return cause instanceof Error && cause.name === 'CancelledFailure';
}

/** Work was stopped, and the way it was stopped left no summary; the message is one sentence with the way out. */
export class JobStopped extends Error {
  override readonly name = 'JobStopped';
}

/** Where a job stands, as far as can be told within a second. */
export interface JobStatus {
  readonly job: string;
  readonly name: string;
  /** `waiting`: it goes on once a worker runs. */
  readonly phase: JobPhase | 'waiting';
  /** Why, in a sentence; null where there is nothing to say. */
  readonly message: string | null;
  /** Since when, Unix ms; null where nobody wrote it down. */
  readonly since: number | null;
  /** What its workflow answers, where it goes on and a worker lives. */
  readonly shown: Awaited<ReturnType<JobHandle['progress']>> | null;
}

/** A job, or a walk on events, that this folder or its store knows. */
export interface KnownJob {
  readonly job: string;
  readonly name: string;
  readonly origin: string;
  readonly input: string;
  readonly into: string;
}

/** The same with where it stands. */
export interface JobListing extends KnownJob {
  /** Null of a walk on events. */
  readonly rows: number | null;
  /** Null of a walk that neither Temporal nor its warehouse knows now. */
  readonly phase: JobStatus['phase'] | null;
  /** Unix ms. */
  readonly since: number | null;
  /** What all its runs have cost; null of a walk, which is free. */
  readonly costMicros: number | null;
}

export interface Runtime {
  /** Workers elsewhere share the store, and may go on when this process ends. */
  readonly shared: boolean;
  /** True where another process of this folder runs the worker and this one is a client only. */
  readonly clientOnly: boolean;
  /** Reads and stages the input, and says what a run would do. Starts no Temporal server, buys nothing. */
  plan(request: EnrichRequest): Promise<JobPlan>;
  /** Makes the job go on: starts it, or resumes it where paused, or attaches to it where it runs. Starts server and worker as needed. */
  start(plan: JobPlan): Promise<JobHandle>;
  /**
   * Makes a job go on: resumes it where it is paused, starts it again where it was stopped, cancelled or failed. This command owns it
   * then, unless another one does.
   */
  resume(job: string, how: Resumption): Promise<JobHandle>;
  /** Makes this command the owner of work that it is about to start, or one that watches it; runs the worker here. */
  own(work: Work): Promise<void>;
  /** The work that this command owns: it ends with the command. */
  owned(): Promise<readonly Work[]>;
  /** Leaves work to the workers: it waits for a person. */
  release(workflowId: string): Promise<void>;
  /** Ends the work that this command owns in the phase `stopped`; what has not ended when `until` resolves is cut off. */
  stop(until: Promise<unknown>): Promise<void>;
  /** A job by id or by name (where only one has it), for status, pause and cancel. */
  attach(job: string): Promise<JobHandle>;
  /** Throws `UsageError` where an export of the job must not write to one of these paths. Looks only. */
  checkTargets(job: string, targets: { readonly csv?: string; readonly parquet?: string }): Promise<void>;
  /** Writes the enriched CSV of a job from its warehouse, without Temporal. */
  export(job: string, csv: string): Promise<{ readonly rows: number; readonly bytes: number; readonly file: string }>;
  /** Writes the rows of a job as Parquet files into a directory of their own, without Temporal. */
  exportParquet(
    job: string,
    dir: string,
  ): Promise<{ readonly rows: number; readonly files: number; readonly bytes: number; readonly folder: string }>;
  /** Reads the plan's answers again that were paid for and not understood, in its warehouse; buys nothing. */
  reparse(plan: JobPlan): Promise<Reparsed>;
  /** Summary from warehouse and journal, without Temporal: for a job that is complete. */
  summary(job: string): Promise<JobSummary>;
  /** Where a job stands. Starts no server; asks the one that runs. */
  status(job: string): Promise<JobStatus>;
  /** The jobs of this folder, or of its store, newest first, without Temporal. */
  known(): Promise<readonly KnownJob[]>;
  /** The same with where they stand. Starts no server; asks the one that runs. */
  jobs(): Promise<readonly JobListing[]>;
  /** Walks on events that ran in this folder, or in its store, newest first, without Temporal. They are among the jobs, too. */
  walks(): Promise<readonly WalkEntry[]>;
  /** Paid requests of this process that were sent and have no answer yet. */
  inFlight(): number;
  unknownOutcomes(job: string): Promise<readonly UnknownOutcome[]>;
  limits(): Promise<LimiterView>;
  /** The process whose worker has this folder's store, and alone knows what is in use; null where none has, or all can tell. */
  workerElsewhere(): number | null;
  /** Workers beside those of the team that keep to a limit of their own. */
  otherLimits(): Promise<readonly OtherLimit[]>;
  /** Places for what runs on at the service. */
  slots(): Promise<SlotsView>;
  /** What the team has spent, and its caps. */
  spend(): Promise<Spend>;
  /**
   * Runs the worker until closed (`searchflow worker`, `searchflow dev`); `running` is told once nothing keeps it from its work, `tell`
   * of each run that starts or ends.
   */
  runWorker(running: () => void, tell: (run: WatchedRun) => void): Promise<void>;
  /**
   * Where this process is a client only: runs the worker here once the process that had the place is gone; false while it has it.
   * Throws where the place is free but the worker can't be run; it may be tried again.
   */
  takeOver(): Promise<boolean>;
  /** A way to the workflows for monitors. `worker: true` also runs the worker here. */
  workflows(options?: { readonly worker?: boolean }): Promise<WorkflowAccess>;
  /** `drain`: stop starting, let paid requests in flight land (10 s at most), give everything back. `now`: cut. */
  close(mode: 'drain' | 'now'): Promise<void>;
}

export type OpenRuntime = (config: RuntimeConfig) => Promise<Runtime>;
