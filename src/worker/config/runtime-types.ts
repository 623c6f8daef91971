import type { Client } from '@temporalio/client';
import type { TransportOptions, WireOptions } from '../../api/transport.js';
import type { Secret } from '../../core/connections/secret.js';
import type { WalkHeartbeat } from '../../core/events/walk-job.js';
import type { JobState, StagedJob } from '../../core/job-entry-schemas.js';
import type { RateProfile } from '../../core/limiter/rate.js';
import type { EnrichCsvInput, JobProgress, SliceHeartbeat } from '../../core/row-job-schemas.js';
import type { JobPhase, PauseReason } from '../../core/rows/job-names.js';
import type { BadRow, RestPlan } from '../../core/rows/job-output-schemas.js';
import type { Said } from '../../core/rows/pause.js';
import type { FailedPick } from '../../core/rows/row-warehouse.js';
import type { WalkProgress } from '../../core/workflow-result-schemas.js';
import type { UrlCells } from '../../rows/index.js';
import type { AlertSettings } from './alert-setting.js';
import type { DatabaseAddress } from './database-setting.js';
import type { BillSetting } from './service-setting.js';
import type { Values } from './settings.js';

export { UsageError } from '../../core/errors/coded-error.js';
export type { BadRow, JobListing, KnownJob, NextRun, RestPlan } from '../../core/rows/job-output-schemas.js';
export type { UrlCells } from '../../rows/index.js';

export interface WorkflowAccess {
  readonly client: Client;
  /** Adds the names of an input to the allowlist: its files and its database, which a person typed. */
  allow(input: object): Promise<void>;
  readonly config: RuntimeConfig;
  readonly shared: boolean;
}

/** `detached`: the work belongs to the workers from its start, and this process runs no worker (`--detach`). */
export interface Ownership {
  readonly detached?: boolean;
}

/** A line of a worker's log. Further fields are ids, counts and names, never a key, an input or an answer. */
export interface LogLine {
  readonly level: 'TRACE' | 'DEBUG' | 'INFO' | 'WARN' | 'ERROR';
  readonly message: string;
  readonly [field: string]: unknown;
}
export type Log = (line: LogLine) => void;

/** Settings that the configuration has under their own names. */
type Own = Pick<Values, 'stateDir' | 'keepLandingMs' | 'keepCallsMs' | 'namespace' | 'taskQueue'> &
  Partial<Pick<Values, 'sinks' | 'deadAfterMs' | 'askAboveMicros' | 'prices' | 'paths' | 'hosts'>>;
type OwnOrNone = Pick<
  Values,
  | ('store' | 'team' | 'duckDbExtensions' | 'dataConverterPath' | 'encrypts')
  | ('metricsAddress' | 'keyQps' | 'secretFile' | 'temporalUi')
>;

/**
 * The validated, frozen settings of the runtime; made by `readConfig` from flags and environment. Settings that are not set
 * are absent or null.
 */
export interface RuntimeConfig extends Own, Readonly<Partial<{ [N in keyof OwnOrNone]: OwnOrNone[N] | null }>> {
  /** `sandbox`: the local stand-in, whose data is kept apart from real data. */
  readonly service: 'live' | 'sandbox';
  /** The base URL of the service, or `sandbox`; a part of every unit's key. */
  readonly origin: string;
  readonly baseUrl: string;
  readonly apiKey: Secret | null;
  /** Access to the service's bill; none: no command needs it. */
  readonly bill?: BillSetting;
  /** The deployment and build of `searchflow worker` for Worker Versioning; none: an unversioned worker. */
  readonly deployment?: { readonly deploymentName: string; readonly buildId: string } | null;
  /** A PostgreSQL warehouse with the credentials that jobs and histories do not hold. */
  readonly warehouse?: DatabaseAddress | null;
  /** A PostgreSQL source of rows with the credentials that jobs and histories do not hold. */
  readonly source?: DatabaseAddress | null;
  /** The log of a worker, in place of the file `worker.log`; also gets each activity and each request. None: the file. */
  readonly log?: Log | null;
  /** Where the metrics go by OTLP, instead of to Prometheus; none: nowhere. `metricsExportInterval` in ms. */
  readonly otlpMetrics?: {
    readonly url: string;
    /** Whether the protocol is HTTP with Protobuf; else gRPC. */
    readonly http: boolean;
    readonly metricsExportInterval: number;
    readonly temporality: 'cumulative' | 'delta';
  } | null;
  /**
   * Folder of the user, absolute, with a lock and the current block for each origin and key, so that two state folders on one machine
   * never use one limit twice.
   */
  readonly userStateDir: string;
  /** The team's limit in requests per second, or a rate profile or its name. */
  readonly rate: { readonly qps: number } | { readonly profile: string | RateProfile };
  readonly rateIsShare: boolean;
  /** Most paid requests in flight; default: enough to use the limit at 5 s latency, at most 256. */
  readonly concurrency: number;
  readonly agentSlots?: number;
  /** Cap of each run of a job on this worker, in micro-dollars; the lower of this cap and the run's own cap holds. None: no cap. */
  readonly maxCostPerJobMicros?: number | null;
  readonly alerts?: AlertSettings | null;
  readonly wire?: WireOptions & Pick<TransportOptions, 'setting'>;
  /** `host:port` of the Temporal server; null: the embedded server. */
  readonly temporalAddress: string | null;
  /** Called with a sentence about warnings and long waits, such as starting the server or waiting for a lock. */
  readonly say: (sentence: string) => void;
}

/** What a person asks of a job: the input of its workflow, and what only commands do. */
export interface EnrichRequest extends EnrichCsvInput {
  /** Whether answers that are in neither journal nor warehouse are bought again. */
  readonly rebuy?: boolean;
  /** Whether to parse again the paid answers that could not be parsed, and to buy nothing. */
  readonly reparse?: boolean;
}

/** Preview of a run, made without any purchase. Amounts in micro-dollars. */
export interface JobPlan {
  readonly staged: StagedJob;
  readonly request: EnrichRequest;
  /** State of the job before the run. `complete`: nothing to buy and nothing to load. */
  readonly status: 'new' | 'unfinished' | 'changed' | 'complete';
  readonly alreadyBought: number;
  readonly toBuy: number;
  readonly requests: number;
  readonly estimateMicros: number;
  /** Whether the price depends on usage, so that the estimate is an upper bound. */
  readonly estimateIsMost: boolean;
  /** Duration in seconds at the configured limit; for runs at the service one minute for each fifty runs. */
  readonly seconds: number;
  readonly perSecond: number;
  readonly badRows: readonly BadRow[];
  /** The contents of the URL column, and how the column was found; null or absent without a URL column. */
  readonly urlCells?: UrlCells | null;
  readonly limitedBadRows?: number;
  readonly rest?: RestPlan | null;
  /** The worker's cap for a run of a job, in micro-dollars (`maxCostPerJobMicros`); null or absent: no cap. */
  readonly allowedMicros?: number | null;
  /** Sentences for a person, such as changed options, pruned answers or a locked warehouse. */
  readonly notes: readonly string[];
}

/** The failed rows that a person names, by error tag or by number. Neither: those that failed for a temporary reason. */
export interface FailedSelection {
  readonly tags?: readonly string[];
  readonly rows?: readonly number[];
}

export interface RetryPlan
  extends Pick<
    JobPlan,
    'staged' | 'requests' | 'estimateMicros' | 'estimateIsMost' | 'seconds' | 'perSecond' | 'notes'
  > {
  readonly pick: FailedPick;
  readonly rows: number;
  readonly units: number;
  /** Number of units whose runs were left running at the service; they are followed again and not bought. */
  readonly running: number;
  readonly tags: Readonly<Record<string, number>>;
  readonly allowedMicros: number | null;
}

export interface CleanWish {
  /** Name or id of a job; null: all jobs, drafts, scratch files and logs. */
  readonly job: string | null;
  /** Jobs that ended since this time in ms are left alone. */
  readonly olderThanMs: number;
  readonly dryRun: boolean;
}

export interface Reparsed {
  /**
   * Number of answers that could not be parsed, wholly or in part. `understood`: how many of these answers can be parsed now. `rows`:
   * number of updated rows.
   */
  readonly answers: number;
  readonly understood: number;
  readonly rows: number;
}

export interface ShownProgress<Progress = JobProgress, Heartbeat = SliceHeartbeat> {
  readonly progress: Progress;
  readonly running: readonly Heartbeat[];
  /** Workers that cannot do this work, a sentence for each. */
  readonly refusals?: readonly string[];
}

type EndOptions = ErrorOptions & Pick<Said, 'next'> & { readonly job?: string | null; readonly isUsual?: boolean };

abstract class JobEnded extends Error {
  abstract readonly phase: 'stopped' | 'cancelled' | 'failed';
  /** The row job, which `searchflow resume` continues; null for other work. */
  readonly job: string | null;
  readonly next: Said['next'];
  /** Whether the message says no more than how the work ended. */
  readonly isUsual: boolean;

  constructor(message: string, { job = null, next, isUsual = false, ...options }: EndOptions = {}) {
    super(message, options);
    this.job = job;
    this.next = next;
    this.isUsual = isUsual;
  }
}

export class JobFailed extends JobEnded {
  override readonly name = 'JobFailed';
  override readonly phase =
    this.cause instanceof Error && this.cause.name === 'CancelledFailure' ? 'cancelled' : 'failed';
}

export class JobStopped extends JobEnded {
  override readonly name = 'JobStopped';
  override readonly phase = 'stopped';
}

/** Status of a job, as far as the status can be found within a second. */
export interface JobStatus extends Said {
  readonly job: string;
  readonly name: string;
  readonly phase: JobPhase | 'waiting';
  readonly reason?: PauseReason;
  /** Beginning of this status in Unix ms; null if the beginning was not recorded. */
  readonly since: number | null;
  /** Answer of the job's workflow; null unless the job is running and a worker is alive. */
  readonly shown: ShownProgress | null;
  readonly cancelRequested?: true;
  readonly schedule?: string;
  /** Figures of the last run if it has ended; absent if they are not known. */
  readonly lastRun?: JobState['run'];
  /** Set while no worker has read the input of the job: its rows are not known yet. */
  readonly isUnopened?: true;
  /** What all runs of the job have bought, in micro-dollars, by the journal. */
  readonly costMicros?: number;
}

export interface WalkStatus extends Omit<JobStatus, 'phase' | 'shown'> {
  /** Null if neither Temporal nor the ledger says it. */
  readonly phase: JobStatus['phase'] | null;
  readonly shown: ShownProgress<WalkProgress, WalkHeartbeat> | null;
  /** Whether the Temporal server has answered; if it has not, the ledger has the state. */
  readonly isAnswered: boolean;
}
