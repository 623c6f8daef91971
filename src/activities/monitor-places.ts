import type { MonitorWarehouse } from '../core/monitor-warehouse.js';
import type { SecretStore } from '../core/secret-store.js';

/**
 * Where the workflows for monitors keep things, as their inputs name them. `host` is the machine that has a file; elsewhere these
 * throw `SinkBusy`, so that a worker there gets the activity.
 */
export interface MonitorPlaces {
  warehouse(place: { readonly into: string; readonly host?: string }): MonitorWarehouse;
  secrets(place: { readonly file: string; readonly host?: string }): SecretStore;
}
