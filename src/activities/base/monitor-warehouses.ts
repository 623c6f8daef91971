import type { MonitorWarehouse } from '../../core/monitors/monitor-warehouse.js';
import { SinkBusy } from '../../core/rows/sink.js';
import type { SecretStore } from '../../core/text/secret-store.js';
import { toFailure } from '../call/failure.js';

/**
 * Where the workflows for monitors keep things, as their inputs name them. `host` is the machine that has a file; elsewhere these
 * reject with `SinkBusy`, so that a worker there gets the activity. What a worker may not open is `BadInput`.
 */
export interface MonitorWarehouses {
  warehouse(place: { readonly into: string; readonly host?: string }): Promise<MonitorWarehouse>;
  secrets(place: { readonly file: string; readonly host?: string }): Promise<SecretStore>;
}

/**
 * A worker acts on the service that was meant and on no other: what waits for an approval on the sandbox must not delete anything
 * for real, because a key was set meanwhile. Throws what makes Temporal try again, until a worker of that service is there.
 */
export function onlyFor({ origin }: { readonly origin: string }, meant: string | undefined): void {
  if (meant === undefined || meant === origin) return;
  throw toFailure(new SinkBusy(`This is for ${meant}; the worker here works on ${origin}`, null));
}
