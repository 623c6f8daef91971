import type { StagedJob } from './job.js';

/** What names the staged rows of a job: its content (`generation`) never changes. */
export type StagedRows = Pick<StagedJob, 'job' | 'generation' | 'slices' | 'stageDir'>;

/** Staged rows of jobs, where every worker that may be given a slice can get at it. */
export interface Stages {
  /**
   * Shares the slices that were written to `stageDir` on this machine; shared before is a no-op. Returns when every worker can
   * get at each of them. Older contents of the job may be forgotten, but for the newest few.
   */
  share(staged: StagedRows): Promise<void>;
  /**
   * Path on this machine of one slice (gzip JSON lines of `StagedRow`), brought here where it is not. Rejects in a sentence with
   * the way out where it is gone.
   */
  slice(staged: StagedRows, slice: number): Promise<string>;
}
