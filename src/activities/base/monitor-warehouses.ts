import { ApplicationFailure } from '@temporalio/common';
import type { SecretStore } from '../../core/connections/secret-store.js';
import type { MonitorWarehouse } from '../../core/monitors/monitor-warehouse.js';
import { WarehouseBusy } from '../../core/rows/warehouse-errors.js';
import { localFailures, toFailure } from '../call/failure.js';

/**
 * Opens the warehouses and secret files that inputs of monitor workflows name. `host` is the machine that has the file. On other machines
 * both methods reject with `WarehouseBusy`, so that a worker on `host` gets the activity. Both reject with `BadInput` if the allowlist
 * refuses the name.
 */
export interface MonitorWarehouses {
  warehouse(named: { readonly into: string; readonly host?: string }): Promise<MonitorWarehouse>;
  secrets(named: { readonly file: string; readonly host?: string }): Promise<SecretStore>;
}

/** The service and the machine of a worker. */
export interface Here {
  /** The service that keys belong to: its base URL, or `sandbox`. */
  readonly origin: string;
  /** Whether another living worker on the task queue has the service and the machine in `meant`. */
  readonly host: string;
  /** Whether another living worker on the task queue is of this service and machine. */
  servedElsewhere(meant: { readonly origin: string; readonly host: string }): Promise<boolean>;
}

/** The service and the machine that an input names. */
export interface Meant {
  readonly origin?: string;
  readonly host?: string;
}

/** The input of a workflow's first activity. `startedBy` is set if neither a command nor a workflow of ours started the workflow. */
export type First<I> = I & { readonly startedBy?: 'client' };

/**
 * Throws a retryable failure if the input names a service other than this worker's. For example, a batch that was planned on the sandbox
 * must not delete real monitors after the worker got an API key.
 */
export function onlyFor({ origin }: { readonly origin: string }, meant: string | undefined): void {
  if (meant === undefined || meant === origin) return;
  throw toFailure(
    new WarehouseBusy(
      'other-service',
      `The work is for the service ${meant}, but this worker serves ${origin}. Start a worker for ${meant}`,
      null,
    ),
  );
}

/**
 * Checks the service like `onlyFor`, in the first activity of a workflow. If a client started the workflow and no living worker has its
 * service or machine, the workflow fails for good. Otherwise the workflow would wait forever, and the client would not see the reason.
 */
export async function onlyForServed(deps: Here, { startedBy, ...meant }: First<Meant>): Promise<void> {
  const { origin = deps.origin, host = deps.host } = meant;
  const isOurs = origin === deps.origin && host === deps.host;
  if (startedBy === 'client' && !isOurs && !(await deps.servedElsewhere({ origin, host }))) {
    const [field, own] = origin === deps.origin ? ['host', deps.host] : ['origin', deps.origin];
    const what = field === 'host' ? 'machine' : 'service';
    throw ApplicationFailure.nonRetryable(
      `${field} must be ${own}, the ${what} of this worker, or be left out: no worker of the given ${what} is running on this task queue.`,
      localFailures.badInput,
    );
  }
  onlyFor(deps, meant.origin);
}
