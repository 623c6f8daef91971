import type { Alert, AlertFact } from './alert.js';

/** Where alerts go: to an address, and to a program on the machine of a worker. */
export const receivers = ['webhook', 'command'] as const;
export type Receiver = (typeof receivers)[number];

/** The delivery of an alert to one receiver. Times in Unix ms. */
export interface Delivery {
  readonly receiver: Receiver;
  /** `undelivered`: the last attempt has failed; `retry` sends the alert again. */
  readonly state: 'waiting' | 'delivered' | 'undelivered';
  readonly attempts: number;
  /** The next attempt; null if there is none. */
  readonly nextAt: number | null;
  /** The last attempt is made at this time. */
  readonly until: number;
  /** Why the latest attempt failed; null: it did not. */
  readonly error: string | null;
  /** When the alert was delivered, or given up. */
  readonly endedAt: number | null;
}

/** An alert with its deliveries. */
export interface KeptAlert {
  readonly alert: Alert;
  readonly deliveries: readonly Delivery[];
}

/** A delivery that this process may attempt now. */
export interface DueAlert extends Pick<Delivery, 'receiver' | 'attempts'> {
  readonly alert: Alert;
  /** Time in ms until the last attempt; not positive: this is the last one. */
  readonly leftMs: number;
}

/** The result of an attempt. `retryMs`: the time until the next attempt; null: there is none. */
export type Attempted =
  | { readonly ok: true }
  | { readonly ok: false; readonly error: string; readonly retryMs: number | null };

/**
 * Alerts that are to be delivered, and those of the last month. All methods that write are durable when they return. The clock is that of the
 * store.
 */
export interface AlertOutbox {
  /** Adds an alert for some receivers, to be delivered within `forMs`. False, without a change, if the alert is known. */
  add(alert: Alert, to: readonly Receiver[], forMs: number): Promise<boolean>;
  /**
   * Claims the oldest delivery to a receiver that is due; null if none is due. For `holdMs` no other process claims this delivery. `owner`: an id
   * of the process.
   */
  claim(receiver: Receiver, owner: string, holdMs: number): Promise<DueAlert | null>;
  /** Records an attempt. The failure of an attempt whose claim has ended is not recorded. */
  record(due: Pick<DueAlert, 'receiver' | 'alert'>, owner: string, attempted: Attempted): Promise<void>;
  /** Ends a claim without an attempt: the delivery is due again. */
  release(due: Pick<DueAlert, 'receiver' | 'alert'>, owner: string): Promise<void>;
  /** The newest alerts, the newest first. */
  list(most: number): Promise<readonly KeptAlert[]>;
  /** Makes all deliveries to these receivers that are waiting or undelivered due now, for another `forMs`. Returns their number. */
  retry(to: readonly Receiver[], forMs: number): Promise<number>;
  /** Removes alerts whose deliveries have all ended before this age. */
  prune(ageMs: number): Promise<void>;
}

/** Records events as alerts. */
export interface AlertBook {
  /** Records events durably, each once. Does nothing for events that are not to be reported, or without a receiver. */
  note(facts: readonly AlertFact[]): Promise<void>;
}
