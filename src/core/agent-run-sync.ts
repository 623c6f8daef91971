import type { WalkState } from './events/walk.js';
import type { RawRecord } from './monitors/monitor-warehouse.js';

/** The default warehouse of agent runs. */
export const DEFAULT_AGENT_WAREHOUSE = 'out/agent-runs.duckdb';

/** Input of the `syncAgentRuns` workflow: plain JSON, usable from any Temporal SDK. */
export interface SyncAgentRunsInput {
  /** Base URL of the service, or `sandbox`; default: the worker's. Workers of other services do not run the sync. */
  readonly origin?: string;
  /** Warehouse to load into; default `out/agent-runs.duckdb` under the worker's directory. */
  readonly into?: string;
  /** The machine that has the warehouse file, for workers on several machines. */
  readonly host?: string;
}

/** Counts of a sync; also the answer of its `progress` query. */
export interface AgentRunSync {
  readonly into: string;
  /** Number of pages of the list that were read. */
  readonly pages: number;
  /** Number of runs that were read, in the list or alone. `added`: new runs among these. `changed`: runs with other contents than before. */
  readonly runs: number;
  readonly added: number;
  readonly changed: number;
  /** Number of runs that the service no longer returns. Their rows are kept. */
  readonly gone: number;
  /** Number of loaded runs that have not ended; the next sync reads them again. */
  readonly unfinished: number;
  /** Unix ms; all runs that were created up to this time are loaded. Null until the first complete sync. */
  readonly watermark: number | null;
}

export type SyncCounts = Pick<AgentRunSync, 'pages' | 'runs' | 'added' | 'changed' | 'gone'>;

/** The state of a sync between two slices: plain JSON of bounded size. Times in Unix ms, by the service's clock. */
export interface AgentRunSyncState extends SyncCounts {
  readonly walk: WalkState;
  /** The range that is read, newest first; `from` null: all runs. Null: before the first page. */
  readonly span: { readonly from: number | null; readonly to: number; readonly sweep: boolean } | null;
  /** How often the list was begun again, because the service no longer accepted a cursor. */
  readonly restarts: number;
}

/** The watermark of a warehouse and the time of its last sweep. */
export interface AgentRunMarks {
  readonly watermark: number | null;
  readonly sweptAt: number | null;
}

/** Agent runs in a warehouse, for analysis (API reference: /agent/runs). All writes are idempotent. */
export interface AgentRunStore {
  marks(origin: string): Promise<AgentRunMarks>;
  /** Adds or replaces runs; `mark` identifies the sync. Returns the numbers of new and changed runs. */
  load(origin: string, mark: string, runs: readonly RawRecord[]): Promise<Pick<SyncCounts, 'added' | 'changed'>>;
  /** The ids of the next runs that had not ended and that this sync has not read. */
  unfinished(origin: string, mark: string, limit: number): Promise<readonly string[]>;
  /** Records that the service no longer returns these runs. */
  markGone(origin: string, mark: string, ids: readonly string[]): Promise<void>;
  /** Records the end of a sync. Returns the number of loaded runs that have not ended. */
  end(origin: string, marks: AgentRunMarks): Promise<number>;
  close(): Promise<void>;
}
