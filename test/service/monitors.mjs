// Monitors, as the contract describes them. Calls that differ from the contract are refused.
import { z } from 'zod';
import { Refused } from './refused.mjs';

const status = z.enum(['active', 'paused', 'disabled']);
const metadata = z.record(z.string(), z.string().max(1000));
const listQuery = z.strictObject({
  status: status.optional(),
  name: z.string().max(250).optional(),
  cursor: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
});
const pageQuery = listQuery.pick({ cursor: true, limit: true });
const batchBody = z.strictObject({
  action: z.enum(['delete', 'pause', 'unpause']),
  filter: z
    .strictObject({
      name: z.string().min(1).max(250).optional(),
      status: status.optional(),
      metadata: metadata.optional(),
    })
    .refine((filter) => Object.keys(filter).length > 0),
  dry_run: z.boolean().default(true),
  limit: z.number().int().min(1).max(500).default(50),
});
const definition = z.strictObject({
  name: z.string().nullish(),
  search: z.looseObject({ query: z.string().min(1) }),
  trigger: z.looseObject({}).nullish(),
  outputSchema: z.looseObject({}).nullish(),
  metadata: metadata.nullish(),
  webhook: z.strictObject({ url: z.string().startsWith('https://'), events: z.array(z.string()).optional() }),
});
const changes = definition.partial().extend({ status: z.enum(['active', 'paused']).optional() });

const shown = ({ serial, ...monitor }) => ({ ...monitor, trigger: null, outputSchema: null, nextRunAt: null });
const plainOf = (url) => Object.fromEntries([...url.searchParams].filter(([name]) => !name.startsWith('metadata[')));

function pageOf(found, limit, cursor, serialOf, show) {
  const before = cursor === undefined ? Number.POSITIVE_INFINITY : Number(Buffer.from(cursor, 'base64url').toString());
  if (Number.isNaN(before)) throw new Refused(400, 'REFUSED', 'no such cursor');
  const rest = found.filter((one) => serialOf(one) < before);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const hasMore = rest.length > limit;
  const nextCursor = hasMore && last ? Buffer.from(String(serialOf(last))).toString('base64url') : null;
  return { data: page.map(show), hasMore, nextCursor };
}

class Monitors {
  records = new Map();
  runs = new Map();
  /** The webhook secret of new monitors; with null the answer has no secret. */
  secret = 'whsec_of_the_strict_service';
  #clock = Date.UTC(2026, 0, 1);
  #serial = 0;

  constructor({ count = 0 }) {
    for (let index = 0; index < count; index++) this.add();
  }

  add(fields = {}) {
    const at = this.#tick();
    const serial = ++this.#serial;
    const monitor = {
      ...{ id: `mon_${String(serial).padStart(5, '0')}`, serial, name: `monitor ${serial}`, status: 'active' },
      ...{ metadata: null, search: { query: 'news' }, webhook: { url: 'https://hooks.example/' } },
      ...{ createdAt: at, updatedAt: at },
      ...fields,
    };
    this.records.set(monitor.id, monitor);
    return monitor;
  }

  /** Changes a monitor, as another client would. */
  change(id, fields) {
    Object.assign(this.known(id), fields, { updatedAt: this.#tick() });
  }

  known(id) {
    const monitor = this.records.get(id);
    if (!monitor) throw new Refused(404, 'NOT_FOUND', `There is no monitor ${id}`);
    return monitor;
  }

  /** The monitors that match the filter, newest first. */
  matching(filter) {
    return [...this.records.values()]
      .filter(
        (one) =>
          (filter.status === undefined || one.status === filter.status) &&
          (filter.name === undefined || one.name?.toLowerCase().includes(filter.name.toLowerCase())) &&
          Object.entries(filter.metadata ?? {}).every(([key, value]) => one.metadata?.[key] === value),
      )
      .sort((a, b) => b.serial - a.serial);
  }

  #tick() {
    this.#clock += 1000;
    return new Date(this.#clock).toISOString();
  }
}

export function monitorRoutes(options) {
  const monitors = new Monitors(options);

  function create({ body }) {
    const made = shown(monitors.add(definition.parse(body)));
    return monitors.secret === null ? made : { ...made, webhookSecret: monitors.secret };
  }

  function list({ url }) {
    const { cursor, limit, ...filter } = listQuery.parse(plainOf(url));
    const pairs = [...url.searchParams].flatMap(([name, value]) => {
      const key = /^metadata\[(.+)\]$/.exec(name)?.[1];
      return key === undefined ? [] : [[key, value]];
    });
    const found = monitors.matching({ ...filter, metadata: Object.fromEntries(pairs) });
    return pageOf(found, limit, cursor, ({ serial }) => serial, shown);
  }

  function batch({ body, entry }) {
    const { action, filter, dry_run, limit } = batchBody.parse(body);
    const found = monitors.matching(filter).filter((one) => action === 'delete' || one.status !== 'disabled');
    const ids = found.slice(0, limit).map(({ id }) => id);
    if (!dry_run) {
      entry.ids = ids;
      for (const id of ids) {
        if (action === 'delete') monitors.records.delete(id);
        else monitors.change(id, { status: action === 'pause' ? 'paused' : 'active' });
      }
    }
    return { action, affected: ids.length, ids, dry_run, has_more: found.length > limit };
  }

  function update({ ids: [id], body }) {
    const monitor = monitors.known(id);
    monitors.change(id, changes.parse(body));
    return shown(monitor);
  }

  function remove({ ids: [id] }) {
    const monitor = monitors.known(id);
    monitors.records.delete(id);
    return shown(monitor);
  }

  function runsOf({ ids: [id], url }) {
    monitors.known(id);
    const runs = monitors.runs.get(id) ?? [];
    const { cursor, limit } = pageQuery.parse(plainOf(url));
    const serials = new Map(runs.map((run, index) => [run.id, index + 1]));
    // The list has no output, because the contract promises the output only for a single run.
    return pageOf(
      [...runs].reverse(),
      limit,
      cursor,
      (run) => serials.get(run.id),
      (run) => ({ ...run, output: null }),
    );
  }

  function runOf({ ids: [id, runId] }) {
    monitors.known(id);
    const run = monitors.runs.get(id)?.find((one) => one.id === runId);
    if (!run) throw new Refused(404, 'NOT_FOUND', 'There is no such run');
    return run;
  }

  const one = /^\/monitors\/([^/]+)$/;
  const routes = [
    ['POST', /^\/monitors$/, create, 201],
    ['GET', /^\/monitors$/, list],
    ['POST', /^\/monitors\/batch$/, batch],
    ['GET', one, ({ ids: [id] }) => shown(monitors.known(id))],
    ['PATCH', one, update],
    ['DELETE', one, remove],
    [
      'POST',
      /^\/monitors\/([^/]+)\/trigger$/,
      ({ ids: [id] }) => ({ triggered: monitors.known(id).status !== 'disabled' }),
    ],
    ['GET', /^\/monitors\/([^/]+)\/runs$/, runsOf],
    ['GET', /^\/monitors\/([^/]+)\/runs\/([^/]+)$/, runOf],
  ];
  return {
    refusal: (code, message) => ({ error: message, tag: code }),
    routes: routes.map(([method, path, act, created]) => ({ method, path, act, status: created, kind: 'monitors' })),
    control: monitors,
  };
}
