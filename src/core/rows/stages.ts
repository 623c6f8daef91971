import type { StagedJob } from '../job-entry-schemas.js';

/** Identifies the staged rows of a job: the content of a `generation` never changes. */
export type StagedRows = Pick<StagedJob, 'job' | 'generation' | 'slices' | 'stageDir'>;

/** Staged rows of jobs, available to every worker that may get a slice. */
export interface Stages {
  /**
   * Shares the slices in `stageDir` of this machine. Does nothing if the slices are shared already. Returns when every worker can read all
   * slices. May delete stages of the job, except the newest few.
   */
  share(staged: StagedRows): Promise<void>;
  /**
   * Returns the path on this machine of one slice (gzip JSON lines of `StagedRow`); fetches the slice if this machine does not have it. If
   * the slice is gone, rejects with an error that says what to do.
   */
  slice(staged: StagedRows, slice: number): Promise<string>;
  /**
   * Removes the shared stages of a job and their copies on this machine, except those that were used since `before` (Unix ms). With
   * `dryRun`, removes nothing. Returns their size in bytes.
   */
  forget(staged: Pick<StagedRows, 'job'>, before: number, dryRun: boolean): Promise<number>;
  /**
   * Calls `change` with each packed slice of all shared stages of a job, and writes the slices that it returns; null: unchanged.
   */
  rewrite(job: string, change: (packed: Uint8Array) => Promise<Uint8Array | null>): Promise<void>;
}
