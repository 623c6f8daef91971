import type { WalkEntry } from '../../core/job-entry-schemas.js';
import { UsageError } from '../config/runtime-types.js';

/** Short name of a walk: `events-sync`, `events-backfill` or `events-verify`. */
export function walkName({ stream }: Pick<WalkEntry, 'stream'>): string {
  return `events-${stream.split(' ', 1)[0]}`;
}

/**
 * A walk by its id, its workflow's id, or its short name if that is unique; null if no walk matches. Throws `UsageError` if several match.
 */
export function findWalk(walks: readonly WalkEntry[], name: string): WalkEntry | null {
  const exact = walks.find(({ job, workflowId }) => job === name || workflowId === name);
  if (exact) return exact;
  const named = walks.filter((walk) => walkName(walk) === name);
  if (named.length < 2) return named[0] ?? null;
  const all = named.map(({ job, stream, origin, into }) => `${job} (${stream} of ${origin} into ${into})`);
  throw new UsageError('name-ambiguous', `${name} matches several walks: ${all.join(', ')}. Give one of these ids`);
}
