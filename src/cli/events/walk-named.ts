import type { Runtime } from '../../worker/config/runtime-types.js';
import { EventControl, type WalkHandle } from '../../worker/control/event-control.js';
import { findWalk } from '../../worker/control/find-walk.js';

/** The walk on events that a command names, null where it names none. */
export async function walkNamed(
  runtime: Pick<Runtime, 'walks' | 'workflows'>,
  name: string,
): Promise<WalkHandle | null> {
  const found = findWalk(await runtime.walks(), name);
  return found && new EventControl(await runtime.workflows(), '.').attach(found);
}
