import { randomBytes } from 'node:crypto';
import { type Alert, alertTypes } from '../../../src/core/alerts/alert.js';
import { Secret } from '../../../src/core/connections/secret.js';
import type { AlertSettings } from '../../../src/worker/config/alert-setting.js';

export const alertSecret = 'a-secret-of-thirty-two-characters';

/** Settings that send all alerts to a webhook, signed. */
export const settingsFor = (url: string | null, command: readonly string[] | null = null): AlertSettings => ({
  url: url === null ? null : new Secret(url),
  secret: new Secret(alertSecret),
  ...{ command, on: alertTypes, lagMs: 7_200_000 },
});

export const madeAlert = (text = 'The job is done.'): Alert => ({
  ...{ id: `alert_${randomBytes(16).toString('hex')}`, type: 'job.done', createdAt: '2026-11-25T06:00:00.000Z' },
  ...{ text, data: { job: 'brands-1' } },
});
