import { ActivityFailure, ApplicationFailure, proxyActivities } from '@temporalio/workflow';
import type { OperationResult } from '../activities/index.js';
import type { Json } from '../core/json.js';
import { type MonitorCall, type MonitorOperation, monitorOperations } from '../core/monitor-call.js';
import { toWorkflowFailure } from './failures.js';
import { slicePolicy } from './policies.js';

type Calls = { [Name in MonitorOperation]: (input: MonitorCall['input']) => Promise<OperationResult<Json>> };
const calls = proxyActivities<Calls>(slicePolicy);

/** `monitorCall`: one operation on a monitor, under the team's limit, whoever runs the worker. */
export async function monitorCall({ operation, input }: MonitorCall): Promise<OperationResult<Json>> {
  if (!monitorOperations.includes(operation)) {
    throw ApplicationFailure.nonRetryable(`operation: one of ${monitorOperations.join(', ')} is needed`, 'BadInput');
  }
  try {
    return await calls[operation](input);
  } catch (error) {
    throw error instanceof ActivityFailure ? toWorkflowFailure(error) : error;
  }
}
