import type { Walk } from '../../core/events/walk-job.js';
import { jobOfWorkflow } from '../../core/rows/job.js';
import type { JobEntries, WalkEntry } from '../../core/rows/job-entries.js';
import { UsageError } from '../config/runtime-types.js';

/** Remembers a walk under the id of its workflow. */
export function noteWalk(entries: JobEntries, walk: Walk, workflowId: string): Promise<void> {
  const { origin, stream, into, host } = walk;
  const job = jobOfWorkflow(workflowId);
  return entries.putWalk({ job, workflowId, origin, stream, into, ...(host === undefined ? {} : { host }) });
}

/** What a walk is called where it is the only one of its kind: `events-sync`, `events-backfill`, `events-verify`. */
export function walkName({ stream }: Pick<WalkEntry, 'stream'>): string {
  return `events-${stream.split(' ', 1)[0]}`;
}

/** A walk by its id or its workflow's, or by its name where only one has it; null where there is none. */
export function findWalk(walks: readonly WalkEntry[], name: string): WalkEntry | null {
  const exact = walks.find(({ job, workflowId }) => job === name || workflowId === name);
  if (exact) return exact;
  const named = walks.filter((walk) => walkName(walk) === name);
  if (named.length < 2) return named[0] ?? null;
  const all = named.map(({ job, stream, origin, into }) => `${job} (${stream} of ${origin} into ${into})`);
  throw new UsageError(`More than one walk is called ${name}: ${all.join(', ')}. Give one of these`);
}
