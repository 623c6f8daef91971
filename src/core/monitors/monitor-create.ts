import type { Json } from '../text/json.js';

/** The metadata field by which this program recognizes its monitors. */
export const MONITOR_KEY = 'searchflow';

/** Input of the `createMonitor` workflow: plain JSON, usable from any Temporal SDK. */
export interface CreateMonitorInput {
  /** Base URL of the service, or `sandbox`; default: the worker's. Workers of other services do not create the monitor. */
  readonly origin?: string;
  /** Definition of the monitor (API reference: /monitors). */
  readonly definition: { readonly [field: string]: Json };
  /** Sends misspelt names and values, too. Default: they are refused. */
  readonly unchecked?: boolean;
  /** File (mode 0600) for the webhook secret, which the service returns only once. Default: the worker's own secret store. */
  readonly secretFile?: string;
  /** The machine that has the secret file, for workers on several machines. */
  readonly host?: string;
}

/** Result of the `createMonitor` workflow. */
export interface CreatedMonitorResult {
  readonly monitor: { readonly id: string } & { readonly [field: string]: Json };
  /** Whether the answer got lost and the monitor was found by its metadata. */
  readonly adopted: boolean;
  /** `missing`: the answer got lost, or had no secret. To get a secret, delete the monitor and create the monitor again with a new id. */
  readonly secret: 'kept' | 'missing';
  /** Ids of further monitors that calls of this creation made; the answers to these calls got lost. */
  readonly others: readonly string[];
}

/** A monitor of a creation, and whether its secret is in the store. */
export type MadeMonitor = Pick<CreatedMonitorResult, 'monitor' | 'secret'>;
