import { DEFAULT_EVENT_WAREHOUSE } from '../../core/events/walk-job.js';
import { DEFAULT_MONITOR_WAREHOUSE } from '../../core/monitors/monitor-names.js';
import type { Published, PublishRequest } from '../../core/publish-request.js';
import { whyNotHere } from '../config/publish-step.js';
import { type JobPlan, UsageError } from '../config/runtime-types.js';
import { isSameWarehouse, warehouseOf } from '../config/warehouse-setting.js';
import { findJob } from '../staging/find-job.js';
import type { RuntimeParts } from './runtime-parts.js';

export interface PublishWish extends Omit<PublishRequest, 'subject'> {
  /** Name or id of a job, `events` or `monitors`. */
  readonly what: string;
  /** The warehouse of events or monitors; null: the usual one. */
  readonly from: string | null;
}

const usual = { events: DEFAULT_EVENT_WAREHOUSE, monitors: DEFAULT_MONITOR_WAREHOUSE } as const;

/** Throws `UsageError` if the rows of a staged job could not be published here, as far as it is known before a run. Writes nothing. */
export async function checkPublish(
  { config, warehouses }: Pick<RuntimeParts, 'config' | 'warehouses'>,
  { staged, request }: JobPlan,
): Promise<void> {
  const { publish: step } = request;
  if (!step) return;
  const why =
    whyNotHere(step, staged, config.duckDbExtensions ?? null) ??
    (await warehouses
      .publisher(staged)
      .check(step.to)
      .then(
        () => null,
        (error: Error) => error.message,
      ));
  if (why !== null)
    throw new UsageError('publish-target-invalid', `--publish: ${why.replace(/\.$/, '')}. Nothing was bought.`);
}

/** Publishes a job from its warehouse, or events or monitors, without Temporal. */
export async function publish(
  { config, store, warehouses }: RuntimeParts,
  { what, from, ...request }: PublishWish,
): Promise<Published> {
  if (what === 'events' || what === 'monitors') {
    const into = warehouseOf(config, from, usual[what], process.cwd());
    return warehouses.publisher({ into }).publish({ ...request, subject: what });
  }
  const { staged } = await findJob(store.entries, what);
  // The address may have the user and password that the job's own address lacks.
  if (from !== null && !isSameWarehouse(warehouseOf(config, from, staged.into, process.cwd()), staged.into))
    throw new UsageError('option-unusable', `--from: the rows of ${staged.job} are in ${staged.into}. Leave it out.`);
  return warehouses.publisher(staged).publish({ ...request, subject: { job: staged.job } });
}
