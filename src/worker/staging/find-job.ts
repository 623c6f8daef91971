import { type StagedJob, workflowIdOf } from '../../core/rows/job.js';
import type { JobEntries, JobEntry, JobState } from '../../core/rows/job-entries.js';
import { UsageError } from '../config/runtime-types.js';

/** A job by id, or by name where only one job has it; else a `UsageError` that says which there are. */
export async function findJob(entries: JobEntries, job: string): Promise<JobEntry> {
  // Throws where its entry is damaged: the list would leave it out.
  await entries.get(job);
  const all = await entries.all();
  const found = all.filter((entry) => entry.staged.job === job || entry.staged.name === job);
  if (found.length === 1) return found[0] as JobEntry;
  const ids = (some: readonly JobEntry[]) => some.map((entry) => entry.staged.job).join(', ');
  if (found.length > 1) {
    throw new UsageError(`More than one job is called ${job}: ${ids(found)}. Give one of these`);
  }
  throw new UsageError(`There is no job ${job} here${all.length > 0 ? `; there are ${ids(all)}` : ''}`);
}

/**
 * One name, one thing: a job named by `--job` keeps its file and its operation, in whatever warehouse. Throws `UsageError` where one
 * of these jobs has the name for something else.
 */
export function refuseOtherUse(
  staged: Pick<StagedJob, 'name' | 'origin' | 'operation' | 'input'>,
  named: boolean,
  jobs: readonly JobEntry[],
): void {
  if (!named) return;
  for (const { named: isNamed, staged: before } of jobs) {
    if (!isNamed || before.name !== staged.name || before.origin !== staged.origin) continue;
    if (before.operation !== staged.operation) {
      throw new UsageError(
        `The job ${staged.name} buys ${before.operation}; ${staged.operation} is another thing. Give it a name of its own with --job`,
      );
    }
    if (before.input === staged.input || staged.input === '-') continue;
    throw new UsageError(
      `The job ${staged.name} is of ${before.input}; ${staged.input} is another file. Give it a name of its own with --job`,
    );
  }
}

/**
 * Remembers where a job stands, for a look without a worker. That it runs takes back only what was before. Of rows that were
 * staged anew meanwhile it says nothing.
 */
export async function noteState(entries: JobEntries, staged: StagedJob, state: JobState): Promise<void> {
  const found = await entries.get(staged.job);
  if (found === null || (state.phase === 'running' && found.state?.phase === 'running')) return;
  await entries.claim(found.workflowId ?? workflowIdOf(staged.job), ({ owned, jobs }) => {
    const entry = jobs.find((one) => one.staged.job === staged.job);
    if (entry?.staged.generation !== staged.generation) return { owned };
    if (state.phase === 'running' && (entry.state?.since ?? 0) > state.since) return { owned };
    const isWhole = state.phase === 'done' && staged.limit === undefined;
    const now: JobEntry = {
      ...entry,
      ...(isWhole ? { completed: staged.generation } : {}),
      state,
    };
    return { owned, entry: { job: staged.job, now } };
  });
}
