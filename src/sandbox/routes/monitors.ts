import { z } from 'zod';
import { checkQuery } from '../base/check-input.js';
import { fromCursor, pageOfList, toCursor } from '../base/page-of-list.js';
import { Refusal } from '../base/refusal.js';
import { listQueryOf } from '../list-query.js';
import type { Monitor } from '../monitors/monitor.js';
import { checkMonitor, checkUpdate } from '../monitors/monitor-input.js';
import { jsonWork, type Route } from '../route.js';

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
export const createMonitor: Route = (input, { monitors }) => {
  const wishes = checkMonitor(input);
  return () => {
    const monitor = monitors.create(wishes);
    return jsonWork({ ...monitors.record(monitor), webhookSecret: monitor.secret }, { status: 201 });
  };
};

/** `GET /monitors`: newest first. Filters: status, part of the name, and `metadata[key]=value`. */
export const listMonitors: Route = (_input, { monitors }, { query }) => {
  const { limit, cursor, ...filter } = checkQuery(listQuery, query);
  const metadata = metadataOf(query);
  const before = cursor === undefined ? Number.POSITIVE_INFINITY : fromCursor('monitors', cursor);
  return () => {
    const found = monitors.list().filter((one) => one.serial < before && passes(one, { ...filter, metadata }));
    const { data, ...page } = pageOfList(found, limit, ({ serial }) => toCursor('monitors', serial));
    return jsonWork({ data: data.map((one) => monitors.record(one)), ...page });
  };
};

export const getMonitor: Route =
  (_input, { monitors }, { params }) =>
  () =>
    jsonWork(monitors.record(monitors.get(params.id as string)));

/** `PATCH /monitors/{id}`: `search` and `webhook` may be partial; null removes a field. */
export const updateMonitor: Route = (input, { monitors }, { params }) => {
  const change = checkUpdate(input);
  return () => jsonWork(monitors.record(monitors.update(params.id as string, change)));
};

/** `DELETE /monitors/{id}`: deletes the monitor permanently and returns its last state. */
export const deleteMonitor: Route =
  (_input, { monitors }, { params }) =>
  () => {
    const record = monitors.record(monitors.get(params.id as string));
    monitors.delete(params.id as string);
    return jsonWork(record);
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
