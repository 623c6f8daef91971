import { JobNotLoaded, type WarehouseSummary } from '../../core/rows/row-warehouse.js';

/** Rows of a job with the same status and tag. Rows that are missing from the input have the status `vanished`. */
export interface RowGroup {
  readonly status: string;
  readonly tag: string | null;
  readonly count: number;
}

/**
 * Sums the groups, so that `success + error + invalid + missing = rows`. Answers to other options are not in the groups, so
 * their rows count as missing.
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

/** `where`: the name of the warehouse, for messages. */
export function unknownJob(job: string, where: string): JobNotLoaded {
  return new JobNotLoaded(`There is no job ${job} in ${where}: run it first, or name its warehouse`);
}
