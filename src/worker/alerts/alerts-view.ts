import { randomUUID } from 'node:crypto';
import { ALERT_TEST, type Alert } from '../../core/alerts/alert.js';
import type { AlertOutbox, KeptAlert, Receiver } from '../../core/alerts/outbox.js';
import { UsageError } from '../../core/errors/coded-error.js';
import { ALERT_FOR_MS, alertId } from './alert-book.js';
import { type AlertSettings, receiversOf } from './alert-setting.js';

/** Alerts that were recorded, and their deliveries. */
export interface AlertsView {
  /** The newest alerts, the newest first. */
  list(most: number): Promise<readonly KeptAlert[]>;
  /** Sends a test alert to each receiver, outside of the list. */
  test(): Promise<readonly { readonly receiver: Receiver; readonly error: string | null }[]>;
  /** Sends all alerts now that are not delivered yet, each once. Returns the number of deliveries and of failed attempts. */
  retry(): Promise<{ readonly delivered: number; readonly failed: number }>;
}

/** The part of a configuration that concerns alerts. */
interface AlertsOf {
  readonly alerts?: AlertSettings | null;
  readonly origin: string;
}

/** The alerts of a store. Throws `UsageError` for a test or a retry without a receiver. */
export function alertsView({ alerts, origin }: AlertsOf, outbox: AlertOutbox): AlertsView {
  const settings = (): AlertSettings => {
    if (alerts) return alerts;
    throw new UsageError(
      'alert-receiver-missing',
      'There is no receiver of alerts. Set SEARCHFLOW_ALERT_URL or SEARCHFLOW_ALERT_COMMAND.',
    );
  };
  return {
    list: (most) => outbox.list(most),
    test: async () => {
      const to = settings();
      // Loaded here, because most commands send no alert.
      const { sendOnce } = await import('./alert-sender.js');
      const alert: Alert = {
        id: alertId(ALERT_TEST, [randomUUID()]),
        type: ALERT_TEST,
        createdAt: new Date().toISOString(),
        text: 'This is a test alert of searchflow. Nothing happened.',
        data: { origin },
      };
      const sending = receiversOf(to).map(async (receiver) => {
        const sent = await sendOnce(alert, receiver, to);
        return { receiver, error: sent.ok ? null : sent.error };
      });
      return Promise.all(sending);
    },
    retry: async () => {
      const to = settings();
      const { AlertSender } = await import('./alert-sender.js');
      await outbox.retry(receiversOf(to), ALERT_FOR_MS);
      // The command reports the failures itself.
      return new AlertSender(outbox, to, () => undefined).sendDue();
    },
  };
}
