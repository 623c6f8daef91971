import type { AlertRetryOutput, AlertsOutput, AlertTestOutput } from '../../api/outputs/index.js';
import type { Delivery, KeptAlert } from '../../core/alerts/outbox.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { some } from '../text/amounts.js';
import { printable } from '../text/printable.js';

interface AlertFlags {
  readonly limit?: string;
  readonly undelivered?: boolean;
  readonly json?: boolean;
}

const SHOWN = 20;
const MOST_SHOWN = 1000;

/** `searchflow alerts`: lists the latest alerts with their deliveries. */
export async function alerts(context: Context, flags: AlertFlags): Promise<ExitCode> {
  const { limit = String(SHOWN), undelivered = false, json = false } = flags;
  const isNumber = /^[1-9]\d{0,3}$/.test(limit) && Number(limit) <= MOST_SHOWN;
  const mistakes = isNumber ? [] : [`--limit: '${printable(limit)}' must be a whole number from 1 to ${MOST_SHOWN}.`];
  const config = settings(context, {}, mistakes);
  return withRuntime(context, config, { sends: false, bounded: true }, async ({ runtime }) => {
    const all = await runtime.alerts.list(undelivered ? MOST_SHOWN : Number(limit));
    const shown = all.filter((kept) => !undelivered || kept.deliveries.some(isUndelivered)).slice(0, Number(limit));
    if (json) context.terminal.data(JSON.stringify(alertsData(shown)));
    else if (shown.length > 0) context.terminal.data(alertsText(shown));
    else context.terminal.say(noneText(undelivered, config.alerts != null));
    return exitCodes.ok;
  });
}

const isUndelivered = ({ state }: Delivery): boolean => state !== 'delivered';

function noneText(undelivered: boolean, hasReceiver: boolean): string {
  if (undelivered) return 'All alerts are delivered.';
  const none = 'No alerts in the last month.';
  return hasReceiver ? none : `${none} There is no receiver: set SEARCHFLOW_ALERT_URL or SEARCHFLOW_ALERT_COMMAND.`;
}

/** Returns the alerts as text, the newest last, as in a log. */
function alertsText(all: readonly KeptAlert[]): string {
  const width = Math.max(...all.map(({ alert }) => alert.type.length));
  const lines = [...all].reverse().map(({ alert, deliveries }) => {
    const how = deliveries.map(deliveryText).join('; ');
    return `${time(alert.createdAt)}  ${alert.type.padEnd(width)}  ${how}\n  ${printable(alert.text)}`;
  });
  return lines.join('\n');
}

const time = (iso: string): string => `${iso.slice(0, 19).replace('T', ' ')}Z`;
const at = (ms: number | null): string => (ms === null ? '' : ` ${time(new Date(ms).toISOString())}`);

function deliveryText({ receiver, state, attempts, nextAt, error, endedAt }: Delivery): string {
  if (state === 'delivered') return `${receiver}: delivered${at(endedAt)}`;
  const why = error === null ? '' : ` (${printable(error)})`;
  if (state === 'undelivered') return `${receiver}: undelivered after ${some(attempts, 'attempt')}${why}`;
  return attempts === 0 ? `${receiver}: waiting` : `${receiver}: waiting, next attempt${at(nextAt)}${why}`;
}

/** Returns the alerts as JSON fields; times in ISO 8601. */
function alertsData(all: readonly KeptAlert[]): AlertsOutput {
  const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    kind: 'alerts',
    alerts: all.map(({ alert, deliveries }) => ({
      ...alert,
      deliveries: deliveries.map(({ receiver, state, attempts, nextAt, until, error, endedAt }) => ({
        ...{ receiver, state, attempts, error },
        ...{ nextAt: iso(nextAt), until: new Date(until).toISOString(), endedAt: iso(endedAt) },
      })),
    })),
  };
}

/** `searchflow alerts test`: sends a test alert to each receiver. */
export async function testAlerts(context: Context, { json = false }: AlertFlags): Promise<ExitCode> {
  return withRuntime(context, settings(context, {}), { sends: false, bounded: true }, async ({ runtime }) => {
    const results = await runtime.alerts.test();
    const output: AlertTestOutput = { kind: 'alertTest', receivers: results };
    if (json) context.terminal.data(JSON.stringify(output));
    else
      for (const { receiver, error } of results)
        context.terminal.data(
          `${receiver}: ${error === null ? 'accepted the test alert' : `did not accept the test alert: ${printable(error)}`}`,
        );
    return results.every(({ error }) => error === null) ? exitCodes.ok : exitCodes.failed;
  });
}

/** `searchflow alerts retry`: sends all alerts that are not delivered yet. */
export async function retryAlerts(context: Context, { json = false }: AlertFlags): Promise<ExitCode> {
  return withRuntime(context, settings(context, {}), { sends: false, bounded: true }, async ({ runtime }) => {
    const { delivered, failed } = await runtime.alerts.retry();
    const output: AlertRetryOutput = { kind: 'alertRetry', delivered, failed };
    if (json) context.terminal.data(JSON.stringify(output));
    else if (delivered + failed === 0) context.terminal.say('All alerts are delivered.');
    else
      context.terminal.say(
        `Delivered: ${delivered}. Not accepted: ${failed}.${failed > 0 ? ' Why: searchflow alerts --undelivered' : ''}`,
      );
    return failed === 0 ? exitCodes.ok : exitCodes.failed;
  });
}
