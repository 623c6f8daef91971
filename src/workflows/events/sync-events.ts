import { continueAsNew } from '@temporalio/workflow';
import type { SyncEventsInput, WalkSummary } from '../../core/events/walk-job.js';
import { publicInput } from '../shared/public-input.js';
import { pageWalk } from './page-walk.js';
import type { PageWalkState } from './page-walk-state.js';

/**
 * `syncEvents`: webset events since the last run into a warehouse (interface section 4.8), up to a minute before the service's
 * now; 15 minutes of what was read before are read again, and once a day two days.
 *
 * Start it by name with plain JSON, see `SyncEventsInput`. Signals `pause` and `resume`, query `progress`. Give it a stable
 * workflow id: two at once load nothing twice, but read it twice. The second argument is its own, for continuing as new.
 */
export async function syncEvents(input: SyncEventsInput, state?: PageWalkState): Promise<WalkSummary> {
  const checked = publicInput('syncEvents', [input], { carried: state });
  return pageWalk({ ...checked, kind: 'sync' }, state, (next) => continueAsNew<typeof syncEvents>(checked, next));
}
