import { randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { ALERT_TEST, type AlertDelivery, type Receiver } from '../../core/alerts/alert.js';
import { UsageError } from '../../core/errors/coded-error.js';
import { backoffMs } from '../../core/purchase/backoff.js';
import { type AlertSettings, receiversOf } from '../config/alert-setting.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { alertId, workflowIdOf } from './alerts.js';
import { postAlert, type Sent } from './post-alert.js';
import { runCommand } from './run-command.js';

/** Time from the first attempt to deliver an alert to the last one, in ms. */
export const ALERT_FOR_MS = 86_400_000;
const FIRST_WAIT_MS = 5000;
const MOST_WAIT_MS = 1_800_000;
/** Longest attempt in ms. A program may need more than a request. */
const WEBHOOK_MS = 10_000;
const COMMAND_MS = 30_000;

/** Returns the activity that makes one attempt to deliver an alert. It fails if the receiver does not accept the alert. */
export function createSendAlert({ alerts = null, say }: Pick<RuntimeConfig, 'alerts' | 'say'>) {
  /** Receivers whose failure was reported and that have accepted no alert since. */
  const failing = new Set<Receiver>();

  function sayFailed(delivery: AlertDelivery, error: string, isLast: boolean): void {
    const { alert, receiver } = delivery;
    say(
      isLast
        ? `The alert ${alert.type} was not delivered to the ${receiver} (${error}), and is not tried again. To send it again:\n  temporal workflow reset --type FirstWorkflowTask --reason again --workflow-id ${workflowIdOf(delivery)}`
        : `The ${receiver} for alerts does not accept them (${error}). They are kept and tried again for ${ALERT_FOR_MS / 3_600_000} hours.`,
    );
  }

  return async (delivery: AlertDelivery): Promise<void> => {
    const { receiver } = delivery;
    const { info, cancellationSignal } = Context.current();
    const sent = await sendOnce(delivery, alerts, cancellationSignal);
    if (sent.ok) return void failing.delete(receiver);
    const message = `${receiver}: ${sent.error}`;
    // An attempt that the end of this process interrupted does not count.
    if (cancellationSignal.aborted) throw ApplicationFailure.create({ message, nextRetryDelay: 1 });
    const leftMs = info.scheduledTimestampMs + ALERT_FOR_MS - Date.now();
    const isLast = leftMs <= 0;
    if (isLast || !failing.has(receiver)) sayFailed(delivery, sent.error, isLast);
    failing.add(receiver);
    const backoff = backoffMs(info.attempt - 1, FIRST_WAIT_MS, MOST_WAIT_MS, Math.random());
    const nextRetryDelay = Math.min(Math.max(sent.retryAfterMs ?? 0, backoff), Math.max(leftMs, 0));
    throw ApplicationFailure.create({ message, type: 'AlertNotAccepted', nonRetryable: isLast, nextRetryDelay });
  };
}

function sendOnce({ alert, receiver }: AlertDelivery, to: AlertSettings | null, signal?: AbortSignal): Promise<Sent> {
  const { url = null, secret = null, command = null } = to ?? {};
  if (receiver === 'webhook' && url) return postAlert(alert, { url, secret }, WEBHOOK_MS, signal);
  if (receiver === 'command' && command) return runCommand(alert, command, COMMAND_MS, signal);
  return Promise.resolve({ ok: false, error: `this worker has no ${receiver} for alerts`, retryAfterMs: null });
}

/** Sends a test alert to each receiver, once and without Temporal. Throws `UsageError` without a receiver. */
export async function testAlerts({ alerts, origin }: Pick<RuntimeConfig, 'alerts' | 'origin'>) {
  if (!alerts)
    throw new UsageError(
      'alert-receiver-missing',
      'There is no receiver of alerts. Set SEARCHFLOW_ALERT_URL or SEARCHFLOW_ALERT_COMMAND.',
    );
  const text = 'This is a test alert of searchflow. Nothing happened.';
  const id = alertId(ALERT_TEST, [randomUUID()]);
  const alert = { id, type: ALERT_TEST, createdAt: new Date().toISOString(), text, data: { origin } } as const;
  const sending = receiversOf(alerts).map(async (receiver) => {
    const sent = await sendOnce({ alert, receiver }, alerts);
    return { receiver, error: sent.ok ? null : sent.error };
  });
  return Promise.all(sending);
}
