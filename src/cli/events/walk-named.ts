import { EventControl } from '../../worker/control/event-control.js';
import { findWalk } from '../../worker/control/find-walk.js';
import type { WalkHandle } from '../../worker/control/job-handle.js';
import type { Runtime } from '../../worker/runtime/views.js';

/** Returns the walk that a command names; null for other jobs. */
export async function walkNamed(
  runtime: Pick<Runtime, 'jobs' | 'workflows'>,
  name: string,
): Promise<WalkHandle | null> {
  const found = findWalk(await runtime.jobs.walks(), name);
  return found && new EventControl(await runtime.workflows(), '.').attach(found);
}
