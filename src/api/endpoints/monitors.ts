import { z } from 'zod';
import { betaOfHighlights } from '../checks/contents-options.js';
import {
  type CreatedMonitor,
  createdMonitor,
  type Monitor,
  type MonitorChanges,
  type MonitorDefinition,
  type MonitorRun,
  monitor,
  monitorChanges,
  monitorDefinition,
  monitorFilterFields,
  monitorRun,
} from '../schemas/monitor-schemas.js';
import { defineList, pageOf, pageQuery } from '../schemas/page.js';
import { type ById, byId, defineEndpoint, ofRecord } from '../wire/endpoint.js';

const secrets = ['webhookSecret'];

/** Creates a monitor. `webhookSecret` is returned only here. Each run of the monitor costs money. */
export const createMonitorEndpoint = defineEndpoint<MonitorDefinition, CreatedMonitor>({
  name: 'createMonitor',
  method: 'POST',
  path: '/monitors',
  idempotent: false,
  retry: 'check',
  request: monitorDefinition,
  beta: ({ search }) => betaOfHighlights(search.contents),
  response: createdMonitor,
  secrets,
  tellsOnce: true,
});

const monitorFilter = z.looseObject({ ...pageQuery, ...monitorFilterFields });
/** Filter of `GET /monitors`. */
export type MonitorListFilter = z.infer<typeof monitorFilter>;

const monitorPage = pageOf(monitor);
export type MonitorPage = z.infer<typeof monitorPage>;

/** The monitors of the team. */
export const listMonitorsEndpoint = defineList<MonitorListFilter, MonitorPage>({
  name: 'listMonitors',
  path: '/monitors',
  request: monitorFilter,
  response: monitorPage,
  secrets,
});

/** One monitor. */
export const getMonitorEndpoint = defineEndpoint<ById, Monitor>({
  name: 'getMonitor',
  path: '/monitors/{id}',
  ...ofRecord,
  response: monitor,
  secrets,
});

/** Changes a monitor. */
export const updateMonitorEndpoint = defineEndpoint<MonitorChanges, Monitor>({
  name: 'updateMonitor',
  method: 'PATCH',
  path: '/monitors/{id}',
  request: monitorChanges,
  record: 'id',
  beta: ({ search }) => betaOfHighlights(search?.contents),
  response: monitor,
  secrets,
});

/** Deletes a monitor permanently; returns the deleted monitor. */
export const deleteMonitorEndpoint = defineEndpoint<ById, Partial<Monitor>>({
  name: 'deleteMonitor',
  method: 'DELETE',
  path: '/monitors/{id}',
  ...ofRecord,
  response: monitor.partial(),
  secrets,
});

const triggered = z.looseObject({ triggered: z.boolean().nullish() });

/** Runs a monitor now, independent of its schedule. The service refuses to run a `disabled` monitor and gives the reason. */
export const triggerMonitorEndpoint = defineEndpoint<ById, z.infer<typeof triggered>>({
  name: 'triggerMonitor',
  method: 'POST',
  path: '/monitors/{id}/trigger',
  idempotent: false,
  retry: 'check',
  request: byId,
  response: triggered,
});

const runFilter = z.looseObject({ id: z.string(), ...pageQuery });
const monitorRunPage = pageOf(monitorRun);
export type MonitorRunPage = z.infer<typeof monitorRunPage>;

/** The runs of a monitor, newest first. */
export const listMonitorRunsEndpoint = defineList<z.infer<typeof runFilter>, MonitorRunPage>({
  name: 'listMonitorRuns',
  path: '/monitors/{id}/runs',
  request: runFilter,
  response: monitorRunPage,
});

const runId = z.looseObject({ id: z.string(), runId: z.string() });

/** One run of a monitor, with the full output once the run is completed. */
export const getMonitorRunEndpoint = defineEndpoint<z.infer<typeof runId>, MonitorRun>({
  name: 'getMonitorRun',
  path: '/monitors/{id}/runs/{runId}',
  request: runId,
  record: 'runId',
  response: monitorRun,
});
