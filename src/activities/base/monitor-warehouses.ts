import type { SecretStore } from '../../core/connections/secret-store.js';
import type { MonitorWarehouse } from '../../core/monitors/monitor-warehouse.js';
import { WarehouseBusy } from '../../core/rows/row-warehouse.js';
import { toFailure } from '../call/failure.js';

/**
 * Opens the warehouses and secret files that inputs of monitor workflows name. `host` is the machine that has the file. On other machines
 * both methods reject with `WarehouseBusy`, so that a worker on `host` gets the activity. They reject with `BadInput` where the allowlist
 * refuses the name.
 */
export interface MonitorWarehouses {
  warehouse(named: { readonly into: string; readonly host?: string }): Promise<MonitorWarehouse>;
  secrets(named: { readonly file: string; readonly host?: string }): Promise<SecretStore>;
}

/**
 * Throws a retryable failure where this worker serves another service than the requested one. A batch that was planned on the sandbox must
 * not delete real monitors because a key was set before its approval.
 */
export function onlyFor({ origin }: { readonly origin: string }, meant: string | undefined): void {
  if (meant === undefined || meant === origin) return;
  throw toFailure(new WarehouseBusy(`This is for ${meant}; this worker serves ${origin}`, null));
}
