import type { JobEntries, JobEntry } from '../core/job-entries.js';
import { UsageError } from './runtime-types.js';

/** A job by id, or by name where only one job has it; else a `UsageError` that says which there are. */
export async function findJob(entries: JobEntries, job: string): Promise<JobEntry> {
  const all = await entries.all();
  const found = all.filter((entry) => entry.staged.job === job || entry.staged.name === job);
  if (found.length === 1) return found[0] as JobEntry;
  const ids = (some: readonly JobEntry[]) => some.map((entry) => entry.staged.job).join(', ');
  if (found.length > 1) {
    throw new UsageError(`More than one job is called ${job}: ${ids(found)}. Give one of these`);
  }
  throw new UsageError(`There is no job ${job} here${all.length > 0 ? `; there are ${ids(all)}` : ''}`);
}
