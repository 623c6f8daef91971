import { z } from 'zod';
import { ALERT_TEST, alertTypes } from '../../core/alerts/alert.js';
import { receivers } from '../../core/alerts/outbox.js';
import { count, list, maybeText, text } from '../exact-schema.js';

const receiver = z.enum(receivers);

/** The latest alerts and their deliveries. */
export const alerts = z.object({
  kind: z.literal('alerts'),
  alerts: list(
    z.object({
      id: text,
      type: z.enum([...alertTypes, ALERT_TEST]),
      createdAt: text,
      text,
      // docs/reference/alerts.schema.json describes the fields of each type.
      data: z.looseObject({}),
      deliveries: list(
        z.object({
          receiver,
          state: z.enum(['waiting', 'delivered', 'undelivered']),
          ...{ attempts: count, error: maybeText, nextAt: maybeText, until: text, endedAt: maybeText },
        }),
      ),
    }),
  ),
});

/** `alerts test`: for each receiver, why it did not accept the test alert; null if it did. */
export const alertTest = z.object({
  kind: z.literal('alertTest'),
  receivers: list(z.object({ receiver, error: maybeText })),
});

/** `alerts retry`: the numbers of deliveries that were accepted and not accepted. */
export const alertRetry = z.object({ kind: z.literal('alertRetry'), delivered: count, failed: count });
