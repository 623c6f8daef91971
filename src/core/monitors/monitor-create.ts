import type { Json } from '../text/json.js';

/** Name in a monitor's metadata under which this program knows what it made. */
export const MONITOR_KEY = 'searchflow';

/** Input of the `createMonitor` workflow: plain JSON, usable from any Temporal SDK. */
export interface CreateMonitorInput {
  /** The service that is meant, by its base URL, or `sandbox`; default: the worker's. A worker of another one leaves it alone. */
  readonly origin?: string;
  /** Definition of the monitor (interface section 4.6, public facts 7.1). */
  readonly definition: { readonly [field: string]: Json };
  /** File (mode 0600) for the webhook secret, which the service tells once. Default: the worker's own secret store. */
  readonly secretFile?: string;
  /** Name of the machine that has the file, where workers are on several. */
  readonly host?: string;
}

/** Result of the `createMonitor` workflow. */
export interface CreatedMonitorResult {
  readonly monitor: { readonly id: string } & { readonly [field: string]: Json };
  /** The answer to the call that made it was lost; it was found by its metadata. */
  readonly adopted: boolean;
  /** `missing`: it was told in an answer that was lost, or not at all. Only deleting the monitor and making it again gives one, with a new id. */
  readonly secret: 'kept' | 'missing';
  /** Other monitors that the same creation made, because answers were lost late. */
  readonly others: readonly string[];
}

/** A monitor that a creation made, and whether its secret is in the store. */
export type MadeMonitor = Pick<CreatedMonitorResult, 'monitor' | 'secret'>;
