import type { WalkState } from './events/walk.js';
import type { RawRecord } from './monitors/monitor-warehouse.js';
import type { AgentRunSync } from './workflow-result-schemas.js';

export const DEFAULT_AGENT_WAREHOUSE = 'out/agent-runs.duckdb';

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
