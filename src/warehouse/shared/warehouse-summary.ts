import { JobNotLoaded, type WarehouseSummary } from '../../core/rows/row-warehouse.js';

/** Rows of a job with the same status (`vanished` for those missing from the input) and tag. */
export interface RowGroup {
  readonly status: string;
  readonly tag: string | null;
  readonly count: number;
}

/**
 * Sums the groups: `success + error + invalid + missing = rows`; answers to other options are not counted, so their rows are
 * missing.
 */
export function summaryOf(rows: number, groups: readonly RowGroup[]): WarehouseSummary {
  const counts: Record<string, number> = {};
  const tags: Record<string, number> = {};
  for (const { status, tag, count } of groups) {
    counts[status] = (counts[status] ?? 0) + count;
    if (status !== 'vanished' && tag !== null) tags[tag] = (tags[tag] ?? 0) + count;
  }
  const { success = 0, error = 0, invalid = 0, vanished = 0 } = counts;
  return { rows, success, error, invalid, missing: rows - success - error - invalid, vanished, tags };
}

/** `where`: the name of the warehouse for a person. */
export function unknownJob(job: string, where: string): JobNotLoaded {
  return new JobNotLoaded(`There is no job ${job} in ${where}: run it first, or name its warehouse`);
}
