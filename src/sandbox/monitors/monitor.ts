import { z } from 'zod';
import { isLoopback } from '../../core/connections/loopback.js';
import { withoutUndefined } from '../../core/text/without-undefined.js';
import { checkInput } from '../base/refusal.js';
import { contentsOptionsSchema } from '../pages/contents-options.js';
import { checkOutputSchema, outputSchemaSchema } from '../pages/synthesis.js';

const domains = z.array(z.string().min(1)).max(1200).optional();

/** Events of the webhooks of monitors. */
export const monitorEvents = [
  'monitor.created',
  'monitor.updated',
  'monitor.deleted',
  'monitor.run.created',
  'monitor.run.completed',
] as const;

export type MonitorEvent = (typeof monitorEvents)[number];

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Milliseconds of a period such as `1h`; null if it is not a period. */
export function periodMs(period: string): number | null {
  const found = /^([1-9]\d{0,5})([mhdw])$/.exec(period);
  return found ? Number(found[1]) * (unitMs[found[2] as string] as number) : null;
}

const nameSchema = z.string().max(250);
export const metadataSchema = z.record(z.string(), z.string().max(1000));
const searchSchema = z.looseObject({
  query: z.string().min(1),
  numResults: z.number().int().min(1).max(100).optional(),
  includeDomains: domains,
  excludeDomains: domains,
  contents: contentsOptionsSchema.optional(),
});
const triggerSchema = z.looseObject({
  type: z.literal('interval'),
  period: z
    .string()
    .refine(
      (text) => (periodMs(text) ?? 0) >= 3_600_000,
      'must be one number and one unit of at least an hour, such as 6h',
    ),
});
const webhookSchema = z.looseObject({
  url: z.string().refine(isDeliverable, 'an https URL (http only on this machine)'),
  events: z.array(z.enum(monitorEvents)).min(1).optional(),
});

/** The settings of a monitor that a caller chooses. */
const wishesSchema = z.object({
  name: nameSchema.nullable().default(null),
  search: searchSchema,
  trigger: triggerSchema.nullable().default(null),
  outputSchema: outputSchemaSchema.nullable().default(null),
  metadata: metadataSchema.nullable().default(null),
  webhook: webhookSchema,
});

export type MonitorWishes = z.infer<typeof wishesSchema>;

/** The stored state of a monitor. Times are milliseconds of the wall clock. */
export const storedMonitorSchema = z.object({
  ...wishesSchema.shape,
  id: z.string(),
  serial: z.number(),
  createdAt: z.number(),
  updatedAt: z.number(),
  status: z.enum(['active', 'paused', 'disabled']),
  secret: z.string(),
  /** Number of consecutive runs that failed because of the API key. */
  keyFailures: z.number(),
});

export type Monitor = z.infer<typeof storedMonitorSchema>;

/** The monitor as the service returns it, without its secret. `nextRunAt`: milliseconds, or null. */
export function monitorRecord(monitor: Monitor, nextRunAt: number | null): Record<string, unknown> {
  const { id, name, status, search, trigger, outputSchema, metadata, webhook, createdAt, updatedAt } = monitor;
  return {
    id,
    name,
    status,
    search,
    trigger,
    outputSchema,
    metadata,
    webhook,
    nextRunAt: nextRunAt === null ? null : new Date(nextRunAt).toISOString(),
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
  };
}

/** Whether a monitor may have this webhook URL: https, or plain http to this machine, where tests listen. */
function isDeliverable(text: string): boolean {
  if (!URL.canParse(text)) return false;
  return new URL(text).protocol === 'https:' || isDelivered(text);
}

/** Whether deliveries to a URL are sent. Only deliveries to this machine are. */
export function isDelivered(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  return protocol === 'http:' && isLoopback(hostname);
}

const updateSchema = z.object({
  name: nameSchema.nullable().optional(),
  status: z.enum(['active', 'paused']).optional(),
  search: searchSchema.partial().optional(),
  trigger: triggerSchema.nullable().optional(),
  outputSchema: outputSchemaSchema.nullable().optional(),
  metadata: metadataSchema.nullable().optional(),
  webhook: webhookSchema.partial().optional(),
});

/** Checks the body of `POST /monitors`. */
export function checkMonitor(input: unknown): MonitorWishes {
  const wishes = checkInput(wishesSchema, input);
  checkOutputSchema(wishes.outputSchema);
  return wishes;
}

/**
 * Checks the body of `PATCH /monitors/{id}` and returns a function that makes the change. The fields of `search` and `webhook`
 * are merged; null removes a field.
 */
export function checkUpdate(input: unknown): (monitor: Monitor) => Monitor {
  const { search = {}, webhook = {}, ...change } = checkInput(updateSchema, input);
  checkOutputSchema(change.outputSchema);
  return (monitor) => ({
    ...monitor,
    ...withoutUndefined(change),
    search: { ...monitor.search, ...withoutUndefined(search) },
    webhook: { ...monitor.webhook, ...withoutUndefined(webhook) },
  });
}
