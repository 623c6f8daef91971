import { z } from 'zod';
import { ruled, whole } from '../checks/fields.js';
import { monitor, monitorFilterFields } from '../schemas/monitor-schemas.js';
import { defineEndpoint } from '../wire/endpoint.js';

const batchRequest = z.looseObject({
  /** Other actions are refused here, because the service could apply an unknown action to every matching monitor. */
  action: z.enum(['delete', 'pause', 'unpause']),
  /** A monitor must match all fields. */
  filter: ruled(z.looseObject(monitorFilterFields), 'a filter with at least 1 field', (filter) =>
    Object.values(filter).some((value) => value !== undefined && value !== null),
  ),
  /** The service's default is true: a dry run. */
  dry_run: z.boolean().optional(),
  limit: whole(1).optional(),
});
/** Request of `POST /monitors/batch`. */
export type MonitorBatchRequest = z.infer<typeof batchRequest>;

const count = z.number().nullish();
const more = z.boolean().nullish();

const records = z.array(monitor.partial()).nullish();
const names = z.array(z.string()).nullish();

const batchResponse = z.looseObject({
  action: z.string().nullish(),
  /** Usually a number; perhaps the monitors themselves. */
  affected: z.union([z.number(), z.array(z.union([z.string(), monitor.partial()]))]).nullish(),
  affectedCount: count,
  affected_count: count,
  count,
  ids: names,
  monitorIds: names,
  monitor_ids: names,
  data: records,
  monitors: records,
  items: records,
  results: records,
  dry_run: more,
  dryRun: more,
  has_more: more,
  hasMore: more,
});
export type MonitorBatchResponse = z.infer<typeof batchResponse>;

/** The effect of a batch, whatever the field names of the answer. */
export interface MonitorBatchResult {
  /** Ids of the monitors that were, or would be, affected. Null where the answer has no ids. */
  readonly ids: readonly string[] | null;
  readonly affected: number | null;
  readonly dryRun: boolean | null;
  /** Null where the answer lacks this field. */
  readonly hasMore: boolean | null;
}

/** Reads a batch's answer, whose field names the contract does not document. */
export function readMonitorBatch(answer: MonitorBatchResponse): MonitorBatchResult {
  const { affected } = answer;
  const reported = Array.isArray(affected) ? affected : null;
  const list = reported ?? answer.data ?? answer.monitors ?? answer.items ?? answer.results;
  const inList = list?.flatMap((one) => (typeof one === 'string' ? one : (one.id ?? []))) ?? null;
  const ids = answer.ids ?? answer.monitorIds ?? answer.monitor_ids ?? inList;
  const number = typeof affected === 'number' ? affected : null;
  return {
    ids,
    affected: number ?? answer.affectedCount ?? answer.affected_count ?? answer.count ?? ids?.length ?? null,
    dryRun: answer.dry_run ?? answer.dryRun ?? null,
    hasMore: answer.has_more ?? answer.hasMore ?? null,
  };
}

/**
 * Deletes, pauses or unpauses the matching monitors, a page of `limit` at a time, until no matching monitor is left. The call is a dry run
 * unless the request has `dry_run: false`.
 */
export const batchMonitorsEndpoint = defineEndpoint<MonitorBatchRequest, MonitorBatchResponse>({
  name: 'batchMonitors',
  method: 'POST',
  path: '/monitors/batch',
  idempotent: false,
  retry: 'check',
  secrets: ['webhookSecret'],
  request: batchRequest,
  response: batchResponse,
});
