import type { AlertBook, AlertOutbox } from '../../core/alerts/outbox.js';
import { alertBook, noAlerts } from './alert-book.js';
import { AlertSender, type AlertTimes, alertTimes } from './alert-sender.js';
import type { AlertSettings } from './alert-setting.js';

/** How long alerts are kept after their delivery, in ms. */
const KEPT_MS = 30 * 86_400_000;

/** The alerts of a worker: it records events, and delivers its own and those of other processes. */
export interface WorkerAlerts extends AlertBook {
  /** Delivers what is due, within `ms`, and ends. */
  close(ms: number): Promise<void>;
}

/** Starts the deliveries of a worker. */
export function openAlerts(
  outbox: AlertOutbox,
  settings: AlertSettings | null | undefined,
  say: (sentence: string) => void,
  times: AlertTimes = alertTimes,
): WorkerAlerts {
  if (!settings) return { ...noAlerts, close: async () => undefined };
  const sender = new AlertSender(outbox, settings, say, times);
  sender.start();
  // Old alerts are removed at the start of a worker. If that fails, the next worker does it.
  outbox.prune(KEPT_MS).catch(() => undefined);
  return { ...alertBook(outbox, settings, () => sender.wake(), times.forMs), close: (ms) => sender.close(ms) };
}
