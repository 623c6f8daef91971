import type { OperationResult } from '../../activities/types.js';
import type { Json } from '../../core/text/json.js';
import type { MonitorCall } from '../../core/workflow-input-schemas.js';
import { toWorkflowFailure } from '../shared/failures.js';
import { lonePolicy } from '../shared/policies.js';
import { forFirst, publicInput } from '../shared/public-input.js';
import { summarizedActivities } from '../shared/summarized-activities.js';
import { setVersioning } from '../shared/versioning.js';

const { callMonitor } = summarizedActivities(lonePolicy, { callMonitor: 'call the service' });

/** `monitorCall`: executes one operation on a monitor, under the team's rate limit. */
export async function monitorCall(call: MonitorCall, ...extra: []): Promise<OperationResult<Json>> {
  publicInput('monitorCall', [call], { extra });
  try {
    return await callMonitor(forFirst(call));
  } catch (error) {
    throw toWorkflowFailure(error);
  }
}

setVersioning('stays', monitorCall);
