import { z } from 'zod';
import { isLoopback } from '../../core/connections/loopback.js';
import { contentsOptions } from '../pages/contents-options.js';
import { outputSchema } from '../pages/synthesis.js';

const domains = z.array(z.string().min(1)).max(1200).optional();

const ofMonitors = ['monitor.created', 'monitor.updated', 'monitor.deleted'] as const;
const ofRuns = ['monitor.run.created', 'monitor.run.completed'] as const;
const events = z.enum([...ofMonitors, ...ofRuns]);

export type MonitorEvent = z.infer<typeof events>;

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Milliseconds of a period such as `1h`; 0 if it is not a period. */
export function periodMs(period = ''): number {
  const [, count, unit = ''] = /^([1-9]\d{0,5})([mhdw])$/.exec(period) ?? [];
  return Number(count ?? 0) * (unitMs[unit] ?? 0);
}

/** Whether deliveries to a URL are sent. Only deliveries to this machine are. */
export function isDelivered(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  return protocol === 'http:' && isLoopback(hostname);
}

const isWebhook = (text: string) => URL.canParse(text) && (text.startsWith('https:') || isDelivered(text));

const name = z.string().max(250);
const metadata = z.record(z.string(), z.string().max(1000));
const search = z.looseObject({
  query: z.string().min(1),
  numResults: z.number().int().min(1).max(100).optional(),
  includeDomains: domains,
  excludeDomains: domains,
  contents: contentsOptions.optional(),
});
const isPeriod = (text: string) => periodMs(text) >= 3_600_000;
const trigger = z.looseObject({
  type: z.literal('interval'),
  period: z.string().refine(isPeriod, 'must be one number and one unit of at least an hour, such as 6h'),
});
const webhook = z.looseObject({
  url: z.string().refine(isWebhook, 'an https URL (http only on this machine)'),
  events: z.array(events).min(1).optional(),
});

/** The body of `POST /monitors`: the settings of a monitor that a caller chooses. */
export const monitorInput = z.object({
  name: name.nullable().default(null),
  search,
  trigger: trigger.nullable().default(null),
  outputSchema: outputSchema.nullable().default(null),
  metadata: metadata.nullable().default(null),
  webhook,
});

const status = z.enum(['active', 'paused', 'disabled']);

/** A monitor. Times are Unix ms. */
export const monitorSchema = z.object({
  id: z.string(),
  status,
  ...monitorInput.shape,
  createdAt: z.number(),
  updatedAt: z.number(),
  secret: z.string(),
  /** Number of consecutive runs that failed because of the API key. */
  keyFailures: z.number(),
});

export type Monitor = z.infer<typeof monitorSchema>;
export type MonitorInput = z.infer<typeof monitorInput>;

/** The body of `PATCH /monitors/{id}`. The fields of `search` and `webhook` are merged; null removes a field. */
export const monitorChange = z.object({
  name: name.nullable().optional(),
  status: z.enum(['active', 'paused']).optional(),
  search: search.partial().default({}),
  trigger: trigger.nullable().optional(),
  outputSchema: outputSchema.nullable().optional(),
  metadata: metadata.nullable().optional(),
  webhook: webhook.partial().default({}),
});

export function changed(monitor: Monitor, { search, webhook, ...change }: z.infer<typeof monitorChange>): Monitor {
  return {
    ...monitor,
    ...change,
    search: { ...monitor.search, ...search },
    webhook: { ...monitor.webhook, ...webhook },
  };
}

/** The filters of a list and of a batch. `name`: a part of the name, in any case. `metadata`: pairs that must all match. */
export const monitorFilter = {
  name: name.optional(),
  status: status.optional(),
  metadata: metadata.optional(),
};

type Filter = Partial<z.infer<z.ZodObject<typeof monitorFilter>>>;

export function passes(monitor: Monitor, { status, name, metadata = {} }: Filter): boolean {
  if (status !== undefined && monitor.status !== status) return false;
  if (name !== undefined && !monitor.name?.toLowerCase().includes(name.toLowerCase())) return false;
  return Object.entries(metadata).every(([key, value]) => monitor.metadata?.[key] === value);
}
