import type { StagedJob } from './job.js';

/** Identifies the staged rows of a job: the content of a `generation` never changes. */
export type StagedRows = Pick<StagedJob, 'job' | 'generation' | 'slices' | 'stageDir'>;

/** Staged rows of jobs, available to every worker that may get a slice. */
export interface Stages {
  /**
   * Shares the slices in `stageDir` of this machine; a no-op where they are shared already. Returns when every worker can read all of
   * them. Stages of the job other than the newest few may be deleted.
   */
  share(staged: StagedRows): Promise<void>;
  /**
   * Returns the path on this machine of one slice (gzip JSON lines of `StagedRow`), fetched where needed. Rejects with what to do where
   * it is gone.
   */
  slice(staged: StagedRows, slice: number): Promise<string>;
}
