import type { StagedJob } from '../job-entry-schemas.js';
import type { JobRecord } from './row-warehouse.js';

/** Returns the facts of a job that are kept in its warehouse. */
export function jobRecord(staged: StagedJob): JobRecord {
  const { job, name, origin, operation, input, columns, generation, options, rows, slices } = staged;
  const { template = null, rowsPerRun = 1, types } = staged;
  const request = template === null && rowsPerRun === 1 ? {} : { request: { template, rowsPerRun } };
  return { job, name, origin, operation, input, columns, generation, options, ...request, rows, slices, types };
}
