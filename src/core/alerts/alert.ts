/** The events that an alert reports, with their meaning. */
export const alertEvents = {
  'job.done': 'all requested rows, or all events of a walk, are loaded',
  'job.stopped': 'a run ended early; the next run or `resume` continues it',
  'job.failed': 'a run ended with an error that a person must fix',
  'job.paused': 'a job waits for a person',
  'job.unknown_outcomes': 'requests of a run got no answer and may have been charged',
  'cap.80': '80% of a cap is used',
  'cap.100': 'a cap is used up',
  'events.lag': 'the events of a scheduled stream are older than the limit',
  'schedule.missed': 'a schedule started no run, or started it late',
} as const;

export type AlertType = keyof typeof alertEvents;
export const alertTypes = Object.keys(alertEvents) as readonly AlertType[];

/** The events that are reported if a setting names no others: those that a person must know of. */
export const usualAlerts: readonly AlertType[] = alertTypes.filter((type) => type !== 'job.done');

/** A test alert has a type of its own, so that a receiver never takes it for an event. */
export const ALERT_TEST = 'alert.test';

/** An alert as receivers get it. Has no key, prompt, URL of a row or value of a cell. */
export interface Alert {
  /** The same for every delivery of this alert, and for every attempt to note its event. */
  readonly id: string;
  readonly type: AlertType | typeof ALERT_TEST;
  /** When the event was noted, in ISO 8601. */
  readonly createdAt: string;
  /** The event in a few sentences, for people. */
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** An event that is to be reported. `key`: what makes the event one of its kind. The same type and key are the same alert. */
export interface AlertFact extends Pick<Alert, 'text' | 'data'> {
  readonly type: AlertType;
  readonly key: readonly (string | number)[];
}

/** Where alerts go: to an address, and to a program on the machine of a worker. */
export const receivers = ['webhook', 'command'] as const;
export type Receiver = (typeof receivers)[number];

export interface AlertDelivery {
  readonly alert: Alert;
  readonly receiver: Receiver;
}

/** Reports events. */
export interface AlertBook {
  /**
   * Starts the deliveries of the alerts of these events durably, each once. Does nothing for events that are not to be reported, or without a
   * receiver. Throws only if Temporal cannot be reached; then call it again.
   */
  note(facts: readonly AlertFact[]): Promise<void>;
}
