import { createMonitorEndpoint, listMonitorsEndpoint } from '../../api/endpoints/monitors.js';
import type { CreatedMonitor, MonitorDefinition } from '../../api/schemas/monitor-schemas.js';
import type { Input } from '../../api/transport.js';
import type { Json } from '../../core/text/json.js';
import type { CreateMonitorInput, MonitorCall } from '../../core/workflow-input-schemas.js';
import type { MadeMonitor } from '../../core/workflow-result-schemas.js';
import type { ActivityDeps } from '../base/deps.js';
import { type First, onlyFor, onlyForServed } from '../base/monitor-warehouses.js';
import { withHeartbeat } from '../base/with-heartbeat.js';
import { redactAnswer } from '../call/landing.js';
import type { CallOptions, OperationResult } from '../operations/buy.js';
import { createMonitor } from '../operations/create-monitor.js';
import { createOperationActivities } from '../operations/operations.js';
import { pagesOf, refusal } from './monitor-list.js';

export interface CreateStep extends CreateMonitorInput {
  /** The key that this creation puts into the monitor's metadata. */
  readonly key: string;
}

/** The metadata field by which this program recognizes its monitors. */
const MONITOR_KEY = 'searchflow';

type Made = MadeMonitor['monitor'];

export function createMonitorCreateActivities(deps: ActivityDeps) {
  const storeOf = async ({ secretFile, host }: CreateStep) =>
    secretFile === undefined ? deps.secrets : deps.monitors.secrets({ file: secretFile, host });

  /**
   * Reads from the store whether the secret of each monitor was kept. A secret may be missing, because the answer to a creation may have
   * had no secret.
   */
  const withSecrets = async (step: CreateStep, monitors: readonly Made[]): Promise<MadeMonitor[]> => {
    const kept = new Set(await (await storeOf(step))?.names());
    return monitors.map((monitor) => ({ monitor, secret: kept.has(`webhook/${monitor.id}`) ? 'kept' : 'missing' }));
  };

  return {
    /** `makeMonitor`: makes one call exactly once. The secret is stored before anything else. */
    async makeMonitor(step: First<CreateStep>): Promise<MadeMonitor> {
      const { definition, key, unchecked } = step;
      await onlyForServed(deps, step);
      const own = definition.metadata ?? {};
      if (typeof own !== 'object' || Array.isArray(own))
        throw refusal(
          'createMonitor: metadata must be an object: a field is added by which a lost monitor is found',
          'InvalidRequest',
        );
      const metadata = { ...own, [MONITOR_KEY]: key };
      const secrets = await withHeartbeat(() => storeOf(step));
      // The input is checked against the service's limits and types before it is sent.
      const input = { ...definition, metadata } as unknown as Input<MonitorDefinition>;
      const call = { unchecked };
      const result = await createMonitor<MonitorDefinition>({ ...deps, secrets }, createMonitorEndpoint, input, call);
      const monitor = ('data' in result ? result.data : await whole(deps, result.landed)) as Made;
      return withHeartbeat(async () => (await withSecrets(step, [monitor]))[0] as MadeMonitor);
    },

    /**
     * `findMadeMonitors`: returns the monitors of a creation whose answer got lost, the latest monitor first. Each monitor shows whether
     * its secret was kept.
     */
    async findMadeMonitors(step: CreateStep): Promise<readonly MadeMonitor[]> {
      return withHeartbeat(async () => {
        onlyFor(deps, step.origin);
        const found: CreatedMonitor[] = [];
        const filter = { metadata: { [MONITOR_KEY]: step.key } };
        // An entry that cannot be read may be the monitor that is searched for.
        const onLost = (entries: string) => {
          throw refusal(`listMonitors: ${entries}`, 'ResponseShape');
        };
        for await (const page of pagesOf(deps, listMonitorsEndpoint, filter, { onLost })) found.push(...page);
        return withSecrets(
          step,
          found.map((one) => redactAnswer(one, listMonitorsEndpoint.secrets) as unknown as Made),
        );
      });
    },
  };
}

async function whole({ journal }: ActivityDeps, keys: readonly string[]): Promise<unknown> {
  return [...(await journal.read(keys)).values()][0]?.result;
}

export type Call = (input: MonitorCall['input'], call: CallOptions) => Promise<OperationResult<Json>>;

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
