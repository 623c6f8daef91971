import type { Transport } from '../../api/transport.js';
import type { EventWarehouse } from '../../core/events/event-warehouse.js';
import type { Walk } from '../../core/events/walk-job.js';
import type { Limiter } from '../../core/limiter/limiter.js';
import type { Freshness, Journal } from '../../core/purchase/journal.js';
import type { PriceTable } from '../../core/purchase/prices.js';
import type { Sha256 } from '../../core/purchase/unit-key.js';
import type { EnrichCsvInput, StagedJob, StagedName } from '../../core/rows/job.js';
import type { JobState, Stage } from '../../core/rows/job-entries.js';
import type { Sink } from '../../core/rows/sink.js';
import type { Stages } from '../../core/rows/stages.js';
import type { SecretStore } from '../../core/text/secret-store.js';
import type { Purchase } from '../purchase/purchase.js';
import type { WorkerRuns } from '../runs/runs.js';
import type { MonitorWarehouses } from './monitor-warehouses.js';

/** Where walks find their warehouses. */
export interface WalkWarehouses {
  /** The warehouse of a walk; the same one for the same address. Rejects with `SinkBusy` where only another machine can reach it, and with `BadInput` where a worker here may not. */
  warehouse(walk: Pick<Walk, 'into' | 'host'>): Promise<EventWarehouse>;
}

/** What the activities need, each a small port; put together in `worker`. */
export interface ActivityDeps {
  readonly transport: Transport;
  /** Part of every key: the base URL, or `sandbox`. */
  readonly origin: string;
  readonly journal: Journal;
  readonly limiter: Limiter;
  readonly purchase: Purchase;
  /** What runs at the service after its start. */
  readonly runs: WorkerRuns;
  /** The most that one run of a job may cost here, whatever the run asks for, in micro-dollars; null or absent: no bound. */
  readonly maxCostPerJobMicros?: number | null;
  /** The prices in force now. */
  prices(): PriceTable;
  readonly sha256: Sha256;
  readonly stages: Stages;
  /** The warehouse of a job; the same one for the same address. Throws `SinkBusy` where the job is another worker's: of another machine or service. */
  sinkFor(staged: Pick<StagedJob, 'into' | 'host'> & Partial<Pick<StagedJob, 'origin'>>): Sink;
  /** Where a secret goes that the service tells once; null: what needs one refuses before it sends. */
  readonly secrets: SecretStore | null;
  /** Warehouses of the walks on events. */
  readonly events: WalkWarehouses;
  /**
   * What was staged under a name, by the worker's own folder or store; only the limit is as the run says. Rejects with `BadInput` where
   * nothing was.
   */
  staged(named: StagedName): Promise<Stage>;
  /** Where the CSV of a job may go: as its workflow says, or as its command said last. */
  csvOf(stage: Stage, csv: string): Promise<string | null>;
  /** Remembers where the job stands; once it is done, that its content is whole in its warehouse. */
  noteState(staged: StagedJob, state: JobState): Promise<void>;
  /** Remembers a walk, so that the command finds it by its name, whoever started it. */
  noteWalk(walk: Walk, workflowId: string): Promise<void>;
  /** Warehouses and secret files of the workflows for monitors. */
  readonly monitors: MonitorWarehouses;
  /** Where scratch files may be written. */
  readonly scratchDir: string;
  /** Reads and stages the input of a job that nobody staged yet. */
  stage(
    input: EnrichCsvInput,
    workflowId: string,
  ): Promise<{ readonly staged: StagedJob; readonly freshness?: Freshness }>;
  /** A call that takes longer than this is given up, in ms. */
  readonly timeoutMs: number;
}

/** What the activities of a walk need. */
export type WalkDeps = Pick<ActivityDeps, 'transport' | 'origin' | 'limiter' | 'events'>;
