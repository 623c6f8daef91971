import type { SecretStore } from '../../core/connections/secret-store.js';
import type { MonitorWarehouse } from '../../core/monitors/monitor-warehouse.js';
import { WarehouseBusy } from '../../core/rows/row-warehouse.js';
import { toFailure } from '../call/failure.js';

/**
 * Opens what the inputs of monitor workflows name. `host` is the machine that has the file; on other machines these reject with
 * `WarehouseBusy`, so that a worker there gets the activity. `BadInput`: this worker may not open it.
 */
export interface MonitorWarehouses {
  warehouse(named: { readonly into: string; readonly host?: string }): Promise<MonitorWarehouse>;
  secrets(named: { readonly file: string; readonly host?: string }): Promise<SecretStore>;
}

/**
 * Throws a retryable failure where this worker serves another service than the requested one. A batch that waits for its
 * approval on the sandbox must not delete real monitors because a key was set meanwhile.
 */
export function onlyFor({ origin }: { readonly origin: string }, meant: string | undefined): void {
  if (meant === undefined || meant === origin) return;
  throw toFailure(new WarehouseBusy(`This is for ${meant}; this worker serves ${origin}`, null));
}
