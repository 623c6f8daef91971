import { ActivityFailure, ApplicationFailure, proxyActivities } from '@temporalio/workflow';
import type { Activities, OperationResult } from '../activities/index.js';
import type { Json } from '../core/json.js';
import { type MonitorCall, monitorOperations } from '../core/monitor-call.js';
import { toWorkflowFailure } from './failures.js';
import { slicePolicy } from './policies.js';

const { callMonitor } = proxyActivities<Activities>(slicePolicy);

/** `monitorCall`: one operation on a monitor, under the team's limit, whoever runs the worker. */
export async function monitorCall(call: MonitorCall): Promise<OperationResult<Json>> {
  if (!monitorOperations.includes(call.operation)) {
    throw ApplicationFailure.nonRetryable(`operation: one of ${monitorOperations.join(', ')} is needed`, 'BadInput');
  }
  try {
    return await callMonitor(call);
  } catch (error) {
    throw error instanceof ActivityFailure ? toWorkflowFailure(error) : error;
  }
}
