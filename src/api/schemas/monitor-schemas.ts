import { z } from 'zod';
import { Secret } from '../../core/connections/secret.js';
import { contents } from '../checks/contents-options.js';
import { filled, oneOf, whole } from '../checks/fields.js';
import { outputSchema } from '../checks/schema-form.js';
import { searchResult } from './result.js';

const text = z.string().nullish();
/** Values of any JSON. */
const metadata = z.record(z.string(), z.unknown()).nullish();
const status = oneOf('active', 'paused', 'disabled');

export const monitorFilterFields = {
  status: status.optional(),
  /** Part of the name; upper and lower case are not distinguished. */
  name: filled.optional(),
  /** Pairs that must all match exactly. */
  metadata: z.record(z.string(), z.unknown()).optional(),
};

const searchFields = {
  /** 1 to 100, default 10. */
  numResults: whole(1).optional(),
  includeDomains: z.array(z.string()).optional(),
  excludeDomains: z.array(z.string()).optional(),
  contents,
};

const trigger = z.looseObject({
  /** `interval` today; older versions of the service also had `cron`. */
  type: oneOf('interval', 'cron').optional(),
  /** One number and one unit, at least an hour: `6h`, `7d`. */
  period: z.string().optional(),
});

const webhookFields = {
  events: z
    .array(
      oneOf(
        ...['monitor.created', 'monitor.updated', 'monitor.deleted', 'monitor.run.created', 'monitor.run.completed'],
      ),
    )
    .optional(),
};

/** Definition of a monitor (API reference: /monitors). */
export const monitorDefinition = z.looseObject({
  name: z.string().nullish(),
  search: z.looseObject({ query: filled, ...searchFields }),
  /** Null or absent: the monitor runs on demand only. */
  trigger: trigger.nullish(),
  outputSchema: outputSchema.nullish(),
  metadata,
  webhook: z.looseObject({ url: filled, ...webhookFields }).optional(),
});
export type MonitorDefinition = z.infer<typeof monitorDefinition>;

/**
 * Changes to a monitor: an absent field stays unchanged, null clears a field, `search` and `webhook` are merged (API reference:
 * /monitors).
 */
export const monitorChanges = z.looseObject({
  id: z.string(),
  name: z.string().nullish(),
  /** `active` or `paused`; only the service sets `disabled`. */
  status: status.optional(),
  search: z.looseObject({ query: filled.optional(), ...searchFields }).optional(),
  trigger: trigger.nullish(),
  outputSchema: outputSchema.nullish(),
  metadata,
  webhook: z.looseObject({ url: filled.optional(), ...webhookFields }).optional(),
});
export type MonitorChanges = z.infer<typeof monitorChanges>;

const monitorFields = {
  id: z.string(),
  name: text,
  /** `active`, `paused`, `disabled`. */
  status: text,
  search: z.looseObject({}).nullish(),
  trigger: z.looseObject({}).nullish(),
  outputSchema: z.looseObject({}).nullish(),
  metadata,
  webhook: z.looseObject({ url: text, events: z.array(z.string()).nullish() }).nullish(),
  nextRunAt: text,
  createdAt: text,
  updatedAt: text,
};

/** A monitor (API reference: /monitors). */
export const monitor = z.looseObject(monitorFields);
export type Monitor = z.infer<typeof monitor>;

/** A new monitor: only this answer holds the webhook's secret. */
export const createdMonitor = z.looseObject({ ...monitorFields, webhookSecret: z.instanceof(Secret).nullish() });
export type CreatedMonitor = z.infer<typeof createdMonitor>;

/** A run of a monitor (API reference: /monitors). */
export const monitorRun = z.looseObject({
  id: z.string(),
  monitorId: text,
  /** `pending`, `running`, `completed`, `failed`, `cancelled`, or another status. */
  status: text,
  output: z
    .looseObject({
      results: z.array(searchResult).nullish(),
      content: z.unknown().optional(),
      grounding: z.unknown().optional(),
    })
    .nullish(),
  failReason: text,
  startedAt: text,
  completedAt: text,
  failedAt: text,
  cancelledAt: text,
  durationMs: z.number().nullish(),
  createdAt: text,
  updatedAt: text,
});
export type MonitorRun = z.infer<typeof monitorRun>;
