import { z } from 'zod';
import { checkInput, checkQuery, fromCursor, listQueryOf, pageOfList, Refusal, toCursor } from '../base/refusal.js';
import { checkMonitor, checkUpdate, type Monitor, metadataSchema } from '../monitors/monitor.js';
import { monitorRunRecord } from '../monitors/monitor-runs.js';
import { jsonWork, plainRoute, type Route, type Routes } from '../route.js';

const status = z.enum(['active', 'paused', 'disabled']).optional();
const name = z.string().max(250).optional();
const listQuery = listQueryOf(100, 50, { status, name });

/** Filter of monitors, in a list and in a batch. */
export interface MonitorFilter {
  readonly status?: Monitor['status'] | undefined;
  /** A part of the name, case-insensitive. */
  readonly name?: string | undefined;
  /** Key-value pairs; a monitor must have all of them. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

export function passes(monitor: Monitor, { status, name, metadata = {} }: MonitorFilter): boolean {
  if (status !== undefined && monitor.status !== status) return false;
  if (name !== undefined && !monitor.name?.toLowerCase().includes(name.toLowerCase())) return false;
  return Object.entries(metadata).every(([key, value]) => monitor.metadata?.[key] === value);
}

/** `POST /monitors`: answers 201 with the monitor and its webhook secret. No other answer has the secret. */
const createMonitor: Route = (input, { monitors }) => {
  const wishes = checkMonitor(input);
  return () => {
    const monitor = monitors.create(wishes);
    return jsonWork({ ...monitors.record(monitor), webhookSecret: monitor.secret }, { status: 201 });
  };
};

/** `GET /monitors`: newest first. Filters: status, part of the name, and `metadata[key]=value`. */
const listMonitors: Route = (_input, { monitors }, { query }) => {
  const { limit, cursor, ...filter } = checkQuery(listQuery, query);
  const metadata = metadataOf(query);
  const before = cursor === undefined ? Number.POSITIVE_INFINITY : fromCursor('monitors', cursor);
  return () => {
    const found = monitors.list().filter((one) => one.serial < before && passes(one, { ...filter, metadata }));
    const { data, ...page } = pageOfList(found, limit, ({ serial }) => toCursor('monitors', serial));
    return jsonWork({ data: data.map((one) => monitors.record(one)), ...page });
  };
};

/** `PATCH /monitors/{id}`: `search` and `webhook` may be partial; null removes a field. */
const updateMonitor: Route = (input, { monitors }, { params }) => {
  const change = checkUpdate(input);
  return () => jsonWork(monitors.record(monitors.update(params.id, change)));
};

function metadataOf(query: URLSearchParams): Record<string, string> {
  const metadata: Record<string, string> = {};
  for (const [name, value] of query) {
    if (!name.startsWith('metadata')) continue;
    const key = /^metadata\[([^[\]]+)\]$/.exec(name)?.[1];
    if (key === undefined)
      throw new Refusal(400, 'INVALID_REQUEST_QUERY', `Invalid query: ${name}: not metadata[key]=value`);
    metadata[key] = value;
  }
  return metadata;
}

const schema = z.looseObject({
  action: z.enum(['delete', 'pause', 'unpause']),
  filter: z
    .looseObject({
      name: z.string().max(250).optional(),
      status: z.enum(['active', 'paused', 'disabled']).optional(),
      metadata: metadataSchema.optional(),
    })
    .refine(({ name, status, metadata }) => name !== undefined || status !== undefined || metadata !== undefined, {
      message: 'at least one of name, status and metadata',
    }),
  dry_run: z.boolean().default(true),
  limit: z.number().int().min(1).max(500).default(50),
});

/**
 * `POST /monitors/batch`: changes the first `limit` monitors that match the filter. A paused monitor still matches a filter
 * without a status, so a client that repeats the call until nothing matches never ends, as with the service. Disabled monitors
 * can only be deleted.
 */
const batchMonitors: Route = (input, { monitors }) => {
  const { action, filter, dry_run, limit } = checkInput(schema, input);
  return () => {
    const found = monitors
      .list()
      .filter((one) => passes(one, filter) && (action === 'delete' || one.status !== 'disabled'));
    const ids = found.slice(0, limit).map(({ id }) => id);
    if (!dry_run) {
      for (const id of ids) {
        if (action === 'delete') monitors.delete(id);
        else monitors.update(id, (one) => ({ ...one, status: action === 'pause' ? 'paused' : 'active' }));
      }
    }
    return jsonWork({ action, affected: ids.length, ids, dry_run, has_more: found.length > limit });
  };
};

const runsQuery = listQueryOf(100, 50, {});

/** `GET /monitors/{id}/runs`: newest first. */
const listMonitorRuns: Route = (_input, { monitors, now, options }, { params, query }) => {
  const { limit, cursor } = checkQuery(runsQuery, query);
  const before = cursor === undefined ? Number.POSITIVE_INFINITY : fromCursor('monitor-runs', cursor);
  return () => {
    const runs = monitors.runsOf(params.id).filter(({ serial }) => serial < before);
    const { data, ...page } = pageOfList(runs, limit, ({ serial }) => toCursor('monitor-runs', serial));
    return jsonWork({ data: data.map((run) => monitorRunRecord(run, now(), options)), ...page });
  };
};

export const monitorRoutes: Routes = {
  'POST /monitors': { route: createMonitor },
  'GET /monitors': { route: listMonitors },
  'POST /monitors/batch': { route: batchMonitors },
  'GET /monitors/:id': { route: plainRoute(({ monitors }, { id }) => monitors.record(monitors.get(id))) },
  'PATCH /monitors/:id': { route: updateMonitor },
  /** Returns the last state. */
  'DELETE /monitors/:id': {
    route: plainRoute(({ monitors }, { id }) => {
      const record = monitors.record(monitors.get(id));
      monitors.delete(id);
      return record;
    }),
  },
  /** Starts a run now, even if another run is in progress. Refused if the monitor is disabled. */
  'POST /monitors/:id/trigger': {
    route: plainRoute(({ monitors }, { id }) => {
      monitors.trigger(id);
      return { triggered: true };
    }),
  },
  'GET /monitors/:id/runs': { route: listMonitorRuns },
  'GET /monitors/:id/runs/:runId': {
    route: plainRoute(({ monitors, now, options }, { id, runId }) =>
      monitorRunRecord(monitors.run(id, runId), now(), options),
    ),
  },
};
