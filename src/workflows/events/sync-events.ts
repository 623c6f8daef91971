import { continueAsNew } from '@temporalio/workflow';
import type { SyncEventsInput } from '../../core/workflow-input-schemas.js';
import type { WalkSummary } from '../../core/workflow-result-schemas.js';
import { publicInput } from '../shared/public-input.js';
import { setVersioning } from '../shared/versioning.js';
import type { PageWalkState } from './page-walk.js';
import { pageWalk } from './page-walk.js';

/**
 * `syncEvents`: loads the webset events since the last run into a warehouse, up to one minute before the present time at the service. Each
 * run reads the last 15 minutes again, and once a day the last two days.
 *
 * Start the workflow by name with plain JSON, see `SyncEventsInput`. Signals `pause` and `resume`, query `progress`. Use a stable workflow
 * id: concurrent runs load each event once, but read it twice. The second argument is internal, for continuing as new. API reference:
 * /websets/v0/events.
 */
export async function syncEvents(input: SyncEventsInput, state?: PageWalkState, ...extra: []): Promise<WalkSummary> {
  const checked = publicInput('syncEvents', [input], { carried: state, extra, isFree: true });
  return pageWalk({ ...checked, kind: 'sync' }, state, (next) => continueAsNew<typeof syncEvents>(checked, next));
}

setVersioning('moves', syncEvents);
