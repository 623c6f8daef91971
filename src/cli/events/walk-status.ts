import type { WalkHeartbeat, WalkProgress } from '../../core/events/walk-job.js';
import type { WalkEntry } from '../../core/rows/job-entries.js';
import type { WalkHandle } from '../../worker/control/job-handle.js';
import type { Runtime } from '../../worker/runtime/views.js';
import { answered } from '../shared/answered.js';
import { walkNamed } from './walk-named.js';

/** State of an unfinished or unreadable walk. */
export type WalkStatus =
  | { readonly state: 'running'; readonly progress: WalkProgress; readonly running: readonly WalkHeartbeat[] }
  /** `interrupted`: no server or worker answers. `stopped`: the walk was ended, or its server does not know the walk. */
  | { readonly state: 'failed' | 'stopped' | 'interrupted' | 'done'; readonly message: string | null };

/** Returns the state of a walk from the walk's worker and Temporal server. May start the server. */
export async function walkStatusOf(
  runtime: Pick<Runtime, 'jobs' | 'workflows'>,
  { job }: Pick<WalkEntry, 'job'>,
): Promise<WalkStatus> {
  const found = await answered(
    () => walkNamed(runtime, job),
    async (walk) => walk && poll(walk),
  ).catch(() => null);
  return found ?? { state: 'interrupted', message: null };
}

async function poll(walk: WalkHandle): Promise<WalkStatus> {
  const end = await walk.end();
  if (end === null) return { state: 'running', ...(await walk.progress()) };
  // A scheduled run that ended early reports the reason.
  return {
    state: end.phase === 'failed' || end.phase === 'done' ? end.phase : 'stopped',
    message: end.message,
  };
}
