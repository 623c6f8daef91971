import { continueAsNew } from '@temporalio/workflow';
import { stretchProblem } from '../../core/events/walk-job.js';
import type { BackfillEventsInput, SyncEventsInput } from '../../core/workflow-input-schemas.js';
import type { WalkSummary } from '../../core/workflow-result-schemas.js';
import { publicInput } from '../shared/public-input.js';
import { setVersioning } from '../shared/versioning.js';
import { type PageWalkState, pageWalk } from './page-walk.js';

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

/**
 * `backfillEvents`: loads webset events of a range of time into a warehouse, in many windows at once. A backfill has its own watermark, so
 * it may run at the same time as `syncEvents`. A new start with the same input continues the backfill.
 *
 * Start the workflow by name with plain JSON, see `BackfillEventsInput`. Signals `pause` and `resume`, query `progress`. The second
 * argument is internal, for continuing as new. API reference: /websets/v0/events.
 */
export async function backfillEvents(
  input: BackfillEventsInput,
  state?: PageWalkState,
  ...extra: []
): Promise<WalkSummary> {
  const checked = publicInput('backfillEvents', [input], { carried: state, extra, isFree: true, also: stretchProblem });
  return pageWalk({ ...checked, kind: 'backfill' }, state, (next) =>
    continueAsNew<typeof backfillEvents>(checked, next),
  );
}

for (const workflow of [syncEvents, backfillEvents]) setVersioning('moves', workflow);
