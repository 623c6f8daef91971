export type { RecordedRun, RowFigures, RunRecord } from './job-output-schemas.js';

export interface FiguresQuery {
  readonly job: string;
  /** Unix ms. Loads before this time are added up in the first part. */
  readonly since: number;
  /** Length of a part of the time, in ms. */
  readonly stepMs: number;
  readonly mostRuns: number;
}
