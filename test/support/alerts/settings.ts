import { alertTypes } from '../../../src/core/alerts/alert.js';
import { Secret } from '../../../src/core/connections/secret.js';
import { type AlertTimes, alertTimes } from '../../../src/worker/alerts/alert-sender.js';
import type { AlertSettings } from '../../../src/worker/alerts/alert-setting.js';

export const alertSecret = 'a-secret-of-thirty-two-characters';

/** Settings that send all alerts to a webhook, signed. */
export const settingsFor = (url: string | null, command: readonly string[] | null = null): AlertSettings => ({
  url: url === null ? null : new Secret(url),
  secret: new Secret(alertSecret),
  ...{ command, on: alertTypes, lagMs: 7_200_000 },
});

/** Short times, so that a test observes retries. */
export const quickTimes: AlertTimes = {
  ...alertTimes,
  ...{ webhookMs: 2000, commandMs: 2000, pollMs: 10, firstWaitMs: 20, mostWaitMs: 50 },
};
