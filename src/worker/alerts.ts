import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { AlertDelivery, AlertFact } from '../core/alerts/alert.js';
import { deferred } from '../core/processes/deferred.js';
import { workflowNames } from '../core/rows/job-names.js';
import { staticSummary } from '../core/text/static-summary.js';
import { receiversOf } from './config/alert-setting.js';
import type { RuntimeConfig } from './config/runtime-types.js';
import { grpcCode } from './temporal-server/retries-until-close.js';

/** Longest wait for Temporal when an event is noted, in ms. */
const START_MS = 5000;
/** Most deliveries that are remembered, so that an event that is noted again and again needs no request. */
const REMEMBERED = 10_000;
/** gRPC codes of a server that cannot be reached now: our deadline, too many requests, no connection. */
const temporary: readonly (number | null)[] = [1, 4, 8, 14];

export const alertId = (type: string, key: readonly (string | number)[]): string =>
  `alert_${hash('sha256', JSON.stringify([type, ...key]), 'hex').slice(0, 32)}`;

export const deliveryId = ({ alert, receiver }: AlertDelivery): string => `searchflow-${alert.id}-${receiver}`;

/** Returns what starts the deliveries of alerts in Temporal. */
export function openAlerts(
  { alerts, taskQueue, say }: Pick<RuntimeConfig, 'alerts' | 'taskQueue' | 'say'>,
  connect: () => Promise<Client>,
) {
  /** Deliveries that are known to Temporal, by their workflow id; resolved when an attempt here has ended. */
  const started = new Map<string, ReturnType<typeof deferred<void>>>();

  async function start(delivery: AlertDelivery): Promise<void> {
    const { type, text } = delivery.alert;
    const workflowId = deliveryId(delivery);
    if (started.has(workflowId)) return;
    if (started.size >= REMEMBERED) started.clear();
    const attempted = deferred<void>();
    started.set(workflowId, attempted);
    try {
      const client = await connect();
      await client.withDeadline(Date.now() + START_MS, () =>
        client.workflow.start(workflowNames.deliverAlert, {
          ...{ workflowId, taskQueue, args: [delivery] },
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
          // Attempts end after a day with a worker; this ends a delivery that no worker makes.
          workflowExecutionTimeout: '30 days',
          ...staticSummary(`${type}: ${text}`),
        }),
      );
    } catch (error) {
      const code = grpcCode(error);
      if (temporary.includes(code)) {
        started.delete(workflowId);
        throw error;
      }
      // The job must end even if Temporal refuses its alerts.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError))
        say(`Temporal refuses the alert ${type} (${code === null ? 'not sent' : `gRPC status ${code}`}).`);
      attempted.resolve();
    }
  }

  return {
    async note(facts: readonly AlertFact[]): Promise<void> {
      if (!alerts) return;
      for (const { type, key, text, data } of facts.filter((fact) => alerts.on.includes(fact.type))) {
        const alert = { id: alertId(type, key), type, createdAt: new Date().toISOString(), text, data };
        for (const receiver of receiversOf(alerts)) await start({ alert, receiver });
      }
    },
    /** Notes that an attempt has ended here. */
    attempted: (delivery: AlertDelivery) => started.get(deliveryId(delivery))?.resolve(),
    /** Resolves when each alert that this process started was attempted here, or after `ms`. */
    async settled(ms: number): Promise<void> {
      const all = Promise.all([...started.values()].map(({ promise }) => promise));
      await Promise.race([all, delay(ms, undefined, { ref: false })]);
    },
  };
}
