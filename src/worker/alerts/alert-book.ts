import { hash } from 'node:crypto';
import type { Alert, AlertFact } from '../../core/alerts/alert.js';
import type { AlertBook, AlertOutbox } from '../../core/alerts/outbox.js';
import { type AlertSettings, receiversOf } from './alert-setting.js';

/** Time after its event at which the last attempt to deliver an alert is made, in ms. */
export const ALERT_FOR_MS = 86_400_000;
/** Most ids that are remembered, so that an event that is noted again and again needs no look into the outbox. */
const REMEMBERED = 10_000;

/** Without a receiver nothing is recorded. */
export const noAlerts: AlertBook = { note: async () => undefined };

/** Returns the alert of an event. `now`: Unix ms. */
function alertOf({ type, key, text, data }: AlertFact, now: number): Alert {
  return { id: alertId(type, key), type, createdAt: new Date(now).toISOString(), text, data };
}

/** Returns the id of an alert, which is also a safe name of a file. */
export function alertId(type: string, key: readonly (string | number)[]): string {
  return `alert_${hash('sha256', JSON.stringify([type, ...key]), 'hex').slice(0, 32)}`;
}

/** Records events in an outbox. `added` is called after a new one. */
export function alertBook(
  outbox: AlertOutbox,
  settings: AlertSettings | null | undefined,
  added: () => void = () => undefined,
  forMs = ALERT_FOR_MS,
): AlertBook {
  if (!settings) return noAlerts;
  const to = receiversOf(settings);
  const known = new Set<string>();
  return {
    note: async (facts) => {
      for (const fact of facts) {
        if (!settings.on.includes(fact.type)) continue;
        const alert = alertOf(fact, Date.now());
        if (known.has(alert.id)) continue;
        if (await outbox.add(alert, to, forMs)) added();
        if (known.size >= REMEMBERED) known.clear();
        known.add(alert.id);
      }
    },
  };
}
