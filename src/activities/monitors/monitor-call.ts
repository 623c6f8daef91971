import type { Json } from '../../core/text/json.js';
import type { MonitorCall } from '../../core/workflow-input-schemas.js';
import type { ActivityDeps } from '../base/deps.js';
import { type First, onlyForServed } from '../base/monitor-warehouses.js';
import type { CallOptions, OperationResult } from '../operations/buy.js';
import { createOperationActivities } from '../operations/operations.js';

type Call = (input: MonitorCall['input'], call: CallOptions) => Promise<OperationResult<Json>>;

/** The activity of the workflow `monitorCall`. */
export function createMonitorCallActivities(deps: ActivityDeps) {
  // Each operation checks its input against the types of its endpoint before the request is sent.
  const operations = createOperationActivities(deps) as unknown as {
    readonly [Name in MonitorCall['operation']]: Call;
  };
  return {
    /** `callMonitor`: makes one operation on a monitor, on a worker of the requested service. */
    async callMonitor({ operation, input, unchecked, ...meant }: First<MonitorCall>): Promise<OperationResult<Json>> {
      await onlyForServed(deps, meant);
      return operations[operation](input, { unchecked });
    },
  };
}
