import type { Transport } from '../../api/transport.js';
import type { AgentRunStore } from '../../core/agent-run-sync.js';
import type { AlertBook, AlertDelivery } from '../../core/alerts/alert.js';
import type { SecretStore } from '../../core/connections/secret-store.js';
import type { EventWarehouse } from '../../core/events/event-warehouse.js';
import type { Walk } from '../../core/events/walk-job.js';
import type { JobEntry, JobState, Stage, StagedJob } from '../../core/job-entry-schemas.js';
import type { Limiter } from '../../core/limiter/limiter.js';
import type { Published } from '../../core/publish-request.js';
import type { CallJournal, Journal } from '../../core/purchase/journal.js';
import type { PriceTable } from '../../core/purchase/prices.js';
import type { Sha256 } from '../../core/purchase/unit-key.js';
import type { EnrichCsvInput, Freshness, PublishStep, StagedName } from '../../core/row-job-schemas.js';
import type { JobWarehouse } from '../../core/rows/row-warehouse.js';
import type { Stages } from '../../core/rows/stages.js';
import type { CallRecord, SpareAnswers } from '../call/call-record.js';
import type { Places } from '../call/places.js';
import type { Purchase } from '../purchase/purchase-request.js';
import type { WorkerRuns } from '../runs/runs.js';
import type { Here, MonitorWarehouses } from './monitor-warehouses.js';

export interface WalkWarehouses {
  /**
   * Returns the warehouse of a walk. Each address has one warehouse. Rejects with `WarehouseBusy` if only another machine can open the
   * warehouse, and with `BadInput` if the allowlist refuses it.
   */
  warehouse(walk: Pick<Walk, 'into' | 'host'>): Promise<EventWarehouse>;
}

export interface StagedRun {
  readonly workflowId: string;
  /** The schedule that started the run. */
  readonly schedule: string | undefined;
  /** Its abort ends the staging. */
  readonly signal: AbortSignal;
}

/** Opens the warehouses of agent runs; rejects as `WalkWarehouses` does. */
export interface AgentRunWarehouses {
  warehouse(named: { readonly into: string; readonly host?: string }): Promise<AgentRunStore>;
}

export interface Publishing {
  /** Rejects with `BadInput` if target or key of a publish are invalid, or the allowlist refuses the target. Changes nothing. */
  check(step: PublishStep, staged: StagedJob): Promise<void>;
  publish(staged: StagedJob, step: PublishStep): Promise<Published>;
}

/** The ports that the activities of single operations need. */
export interface CallDeps {
  readonly transport: Transport;
  /** Name of the service in every purchase's key. */
  readonly origin: string;
  readonly journal: Pick<CallJournal, 'read' | 'recordOutcomes'> & Partial<Pick<Journal, 'totals'>>;
  readonly limiter: Limiter;
  /** Turns of single calls. */
  readonly places: Places;
  readonly purchase: Purchase;
  /** The prices in force now. */
  prices(): PriceTable;
  readonly sha256: Sha256;
  /**
   * The store for secrets that the service returns only once. Null: operations that return such a secret are refused before they are sent.
   */
  readonly secrets: SecretStore | null;
  /** The timeout of one call, in ms. */
  readonly timeoutMs: number;
  /** Set on a worker without a record: what earlier attempts of the call did, and what earlier calls left. */
  readonly alone?: CallRecord;
  readonly spares?: SpareAnswers;
}

/** The ports that the activities need. Code in `worker` provides the ports. */
export interface ActivityDeps extends Here, CallDeps {
  /** Events that a person must know of. */
  readonly alerts: AlertBook;
  /** Makes one attempt to deliver an alert; throws if it is not accepted. */
  sendAlert(delivery: AlertDelivery): Promise<void>;
  readonly journal: Journal;
  /** Agent runs and research tasks in progress at the service. */
  readonly runs: WorkerRuns;
  /**
   * The cap of one run of a job on this worker, in micro-dollars. A run's own cap counts only if that cap is lower. Null or absent: no cap.
   */
  readonly maxCostPerJobMicros?: number | null;
  readonly stages: Stages;
  /** Whether several processes may buy for a job. */
  readonly isShared: boolean;
  /**
   * Returns the warehouse of a job. Each address has one warehouse. Throws `WarehouseBusy` if only a worker of another machine or service
   * can open the warehouse.
   */
  warehouseFor(staged: Pick<StagedJob, 'into' | 'host' | 'origin'>): JobWarehouse;
  readonly events: WalkWarehouses;
  /**
   * Returns a stage by its name from the worker's own folder or store, with the limit of the run and the amount that counted before the run.
   * Rejects with `BadInput` for an unknown name.
   */
  staged(named: StagedName): Promise<Stage & { readonly beforeMicros: number }>;
  /** Returns the path of a job's CSV. The path comes from the workflow, or from the latest command. */
  csvOf(stage: Stage, csv: string): Promise<string | null>;
  /** Publishes the view of a job at the end of its run. */
  readonly publishing: Publishing;
  /** Records the state of a job. For a finished job, also records that the warehouse holds all rows of the job. */
  noteState(staged: StagedJob, state: JobState): Promise<void>;
  /** Records the amount that counted before a run of a job, once for each run. */
  noteOpened(job: string, opened: NonNullable<JobEntry['opened']>): Promise<void>;
  /** Records a walk, so that commands find the walk by name. */
  noteWalk(walk: Walk, workflowId: string): Promise<void>;
  readonly agentRuns: AgentRunWarehouses;
  /** Warehouses and secret files of the monitor workflows. */
  readonly monitors: MonitorWarehouses;
  /** The folder for temporary files. */
  readonly scratchDir: string;
  /** Reads and stages the input of a job that is not staged yet. */
  stage(input: EnrichCsvInput, run: StagedRun): Promise<{ readonly staged: StagedJob; readonly freshness?: Freshness }>;
}

export type WalkDeps = Pick<ActivityDeps, 'transport' | 'origin' | 'limiter' | 'events'>;
