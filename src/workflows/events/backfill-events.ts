import { continueAsNew } from '@temporalio/workflow';
import { stretchProblem } from '../../core/events/walk-job.js';
import type { BackfillEventsInput } from '../../core/workflow-input-schemas.js';
import type { WalkSummary } from '../../core/workflow-result-schemas.js';
import { publicInput } from '../shared/public-input.js';
import { setVersioning } from '../shared/versioning.js';
import type { PageWalkState } from './page-walk.js';
import { pageWalk } from './page-walk.js';

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

setVersioning('moves', backfillEvents);
