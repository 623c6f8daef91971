import { z } from 'zod';
import { badQuery, listQueryOf, Refusal } from '../base/refusal.js';
import { checkOutputSchema } from '../pages/synthesis.js';
import { plain, type Routes, route } from '../route.js';
import type { World } from '../world.js';
import { changed, type Monitor, monitorChange, monitorFilter, monitorInput, passes } from './monitor.js';
import { type MonitorRun, monitorRunRecord } from './monitor-runs.js';
import type { Monitors } from './monitors.js';

const { name, status } = monitorFilter;

/** The pairs of `metadata[key]=value` in a query. */
function metadataOf(query: Readonly<Record<string, unknown>>): Record<string, string> {
  const metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(query).filter(([name]) => name.startsWith('metadata'))) {
    const key = /^metadata\[([^[\]]+)\]$/.exec(name)?.[1];
    if (key === undefined) throw badQuery(`${name}: not metadata[key]=value`);
    metadata[key] = String(value);
  }
  return metadata;
}

const batch = z.looseObject({
  action: z.enum(['delete', 'pause', 'unpause']),
  filter: z
    .looseObject(monitorFilter)
    .refine(({ name, status, metadata }) => name !== undefined || status !== undefined || metadata !== undefined, {
      message: 'at least one of name, status and metadata',
    }),
  dry_run: z.boolean().default(true),
  limit: z.number().int().min(1).max(500).default(50),
});

export const monitorRoutes = (monitors: Monitors, { now, options }: World): Routes => ({
  /** No other answer has the webhook secret. */
  'POST /monitors': route({
    body: monitorInput,
    work: ({ body }) => {
      checkOutputSchema(body.outputSchema);
      const monitor = monitors.create(body);
      return { status: 201, json: { ...monitors.record(monitor), webhookSecret: monitor.secret } };
    },
  }),
  'GET /monitors': route({
    query: listQueryOf(100, 50, { status, name }),
    work: ({ query }) => {
      const filter = { status: query.status, name: query.name, metadata: metadataOf(query) };
      const view = monitors.record.bind(monitors);
      return { json: monitors.table.page(query, view, (monitor) => passes(monitor, filter)) };
    },
  }),
  /**
   * Changes the first `limit` monitors that match the filter. A paused monitor still matches a filter without a status, so a
   * client that repeats the call until nothing matches never ends, as with the service. Disabled monitors can only be deleted.
   */
  'POST /monitors/batch': route({
    body: batch,
    work: ({ body: { action, filter, dry_run, limit } }) => {
      const isMatch = (one: Monitor) => passes(one, filter) && (action === 'delete' || one.status !== 'disabled');
      const found = monitors.table.all().reverse().filter(isMatch);
      const ids = found.slice(0, limit).map(({ id }) => id);
      const status = action === 'pause' ? 'paused' : 'active';
      for (const id of dry_run ? [] : ids) {
        if (action === 'delete') monitors.delete(id);
        else monitors.update(id, (one) => ({ ...one, status }));
      }
      return { json: { action, affected: ids.length, ids, dry_run, has_more: found.length > limit } };
    },
  }),
  'GET /monitors/:id': plain(({ id }) => monitors.record(monitors.table.get(id))),
  'PATCH /monitors/:id': route({
    body: monitorChange,
    work: ({ body, params }) => {
      checkOutputSchema(body.outputSchema);
      return { json: monitors.record(monitors.update(params.id, (one) => changed(one, body))) };
    },
  }),
  'DELETE /monitors/:id': plain(({ id }) => monitors.delete(id)),
  'POST /monitors/:id/trigger': plain(({ id }) => {
    monitors.trigger(id);
    return { triggered: true };
  }),
  'GET /monitors/:id/runs': route({
    query: listQueryOf(100, 50, {}),
    work: ({ params, query }) => {
      const { id } = monitors.table.get(params.id);
      const view = (run: MonitorRun) => monitorRunRecord(run, now(), options);
      return { json: monitors.runs.page(query, view, ({ monitorId }) => monitorId === id) };
    },
  }),
  'GET /monitors/:id/runs/:runId': plain(({ id, runId }) => {
    monitors.table.get(id);
    const run = monitors.runs.get(runId);
    if (run.monitorId !== id) throw new Refusal(404, `There is no run ${runId} of ${id}`);
    return monitorRunRecord(run, now(), options);
  }),
});
