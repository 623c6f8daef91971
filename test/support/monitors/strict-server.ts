import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

export interface StoredMonitor {
  readonly id: string;
  readonly serial: number;
  name: string | null;
  status: string;
  metadata: Record<string, string> | null;
  search: { readonly query: string };
  webhook: { readonly url: string };
  readonly createdAt: string;
  updatedAt: string;
}

export type StoredRun = { readonly id: string; readonly monitorId: string; status: string } & Record<string, unknown>;

/** What happens to a call: `lost` acts and cuts the answer, `reset` cuts before it acts, a number is a status without acting, `500 done` acts first. */
export type Fate = 'ok' | 'lost' | 'reset' | '500 done' | 429 | 500 | 503;

/** One of these for each call, as if by chance but always the same: in order they would meet the same kind of call each time. */
export function byChance(fates: readonly Fate[]): (call: number) => Fate {
  return (call) => fates[(Math.imul(call + 1, 0x9e3779b1) >>> 16) % fates.length] as Fate;
}

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly fate: Fate;
  readonly requestId: string;
  /** Ids that a batch call affected. */
  ids: readonly string[];
}

class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

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

/** A service of monitors, written from the interface and strict about it, independent of the sandbox. */
export class StrictServer {
  readonly monitors = new Map<string, StoredMonitor>();
  readonly runs = new Map<string, StoredRun[]>();
  readonly log: Seen[] = [];
  readonly key = 'key-of-the-strict-server';
  /** Null: a new monitor's answer has none. */
  secret: string | null = 'whsec_of_the_strict_server';
  /** Decides over each call, by its number from 1 and what it is. */
  fate: (call: number, method: string, path: string) => Fate = () => 'ok';
  /** How batch calls end: as they should; `endless` says for ever that there is more; `circling` affects the same again and again; `inventing` names ids that nobody knows. */
  batches: 'honest' | 'endless' | 'circling' | 'inventing' = 'honest';
  /** Called before each call is answered: what somebody else does meanwhile. */
  meanwhile: (call: number, method: string, path: string) => void = () => undefined;
  #clock = Date.UTC(2026, 0, 1);
  #serial = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<StrictServer> {
    const server = new StrictServer();
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  add(fields: Partial<StoredMonitor> = {}): StoredMonitor {
    const at = this.#tick();
    const serial = ++this.#serial;
    const monitor: StoredMonitor = {
      ...{ id: `mon_${String(serial).padStart(5, '0')}`, serial, name: `monitor ${serial}`, status: 'active' },
      ...{ metadata: null, search: { query: 'news' }, webhook: { url: 'https://hooks.example/' } },
      ...{ createdAt: at, updatedAt: at },
      ...fields,
    };
    this.monitors.set(monitor.id, monitor);
    return monitor;
  }

  /** Somebody changes a monitor. */
  change(id: string, fields: Partial<StoredMonitor>): void {
    const monitor = this.monitors.get(id);
    if (!monitor) throw new Refused(404, `There is no monitor ${id}`);
    Object.assign(monitor, fields, { updatedAt: this.#tick() });
  }

  /** Ids by status. */
  idsOf(status: string): string[] {
    return [...this.monitors.values()].filter((one) => one.status === status).map(({ id }) => id);
  }

  #tick(): string {
    this.#clock += 1000;
    return new Date(this.#clock).toISOString();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const url = new URL(request.url ?? '/', 'http://localhost');
    const method = request.method ?? 'GET';
    const call = this.log.length + 1;
    const fate = this.fate(call, method, url.pathname);
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    const seen: Seen = { method, path: url.pathname, body, fate, requestId: `strict-${call}`, ids: [] };
    this.log.push(seen);
    if (fate === 'reset') return void request.socket.destroy();
    if (typeof fate === 'number') return this.#send(response, fate, { error: 'as told', tag: 'TOLD' }, seen);
    let answer: { status: number; body: unknown };
    try {
      if (request.headers['x-api-key'] !== this.key) throw new Refused(401, 'No such key');
      this.meanwhile(call, method, url.pathname);
      answer = {
        status: method === 'POST' && url.pathname === '/monitors' ? 201 : 200,
        body: this.#act(method, url, body, seen),
      };
    } catch (error) {
      if (!(error instanceof Refused || error instanceof z.ZodError)) throw error;
      answer = {
        status: error instanceof Refused ? error.status : 400,
        body: { error: error.message, tag: 'REFUSED' },
      };
    }
    if (fate === 'lost') return void request.socket.destroy();
    if (fate === '500 done') return this.#send(response, 500, { error: 'as told', tag: 'TOLD' }, seen);
    this.#send(response, answer.status, answer.body, seen);
  }

  #send(response: ServerResponse, status: number, body: unknown, { requestId }: Seen): void {
    const headers = { 'content-type': 'application/json', 'x-request-id': requestId, date: new Date().toUTCString() };
    response.writeHead(status, headers).end(JSON.stringify(body));
  }

  #act(method: string, url: URL, body: unknown, seen: Seen): unknown {
    const parts = url.pathname.split('/').slice(1);
    const [root, id, sub, runId] = parts;
    if (root !== 'monitors') throw new Refused(404, 'no such path');
    if (id === 'batch' && method === 'POST') return this.#batch(body, seen);
    if (id === undefined) return method === 'POST' ? this.#create(body) : this.#list(url);
    const monitor = this.monitors.get(id);
    if (!monitor) throw new Refused(404, `There is no monitor ${id}`);
    if (sub === 'runs') return this.#runsOf(id, runId, url);
    if (sub === 'trigger' && method === 'POST') return { triggered: monitor.status !== 'disabled' };
    if (method === 'PATCH') this.change(id, changes.parse(body) as Partial<StoredMonitor>);
    if (method === 'DELETE') this.monitors.delete(id);
    return publicRecord(monitor);
  }

  #create(body: unknown): unknown {
    const wishes = definition.parse(body);
    return {
      ...publicRecord(this.add(wishes as Partial<StoredMonitor>)),
      ...(this.secret === null ? {} : { webhookSecret: this.secret }),
    };
  }

  #list(url: URL): unknown {
    const { cursor, limit, ...filter } = listQuery.parse(Object.fromEntries(plainOf(url)));
    const pairs = Object.fromEntries(
      [...url.searchParams].flatMap(([name, value]) => {
        const key = /^metadata\[(.+)\]$/.exec(name)?.[1];
        return key === undefined ? [] : [[key, value]];
      }),
    );
    const found = this.#matching({ ...filter, metadata: pairs });
    return pageOf(found, limit, cursor, ({ serial }) => serial, publicRecord);
  }

  #runsOf(id: string, runId: string | undefined, url: URL): unknown {
    const runs = this.runs.get(id) ?? [];
    if (runId !== undefined) {
      const run = runs.find((one) => one.id === runId);
      if (!run) throw new Refused(404, 'There is no such run');
      return run;
    }
    const { cursor, limit } = pageQuery.parse(Object.fromEntries(plainOf(url)));
    const serials = new Map(runs.map((run, index) => [run.id, index + 1]));
    // The list leaves the output out: the contract promises it for one run only.
    const short = (run: StoredRun) => ({ ...run, output: null });
    return pageOf([...runs].reverse(), limit, cursor, (run) => serials.get(run.id) as number, short);
  }

  #batch(body: unknown, seen: Seen): unknown {
    const { action, filter, dry_run, limit } = batchBody.parse(body);
    if (this.batches === 'inventing' && !dry_run)
      return { action, affected: 3, ids: [1, 2, 3].map((n) => `mon_${this.log.length}_${n}`), has_more: true };
    const found = this.#matching(filter).filter((one) => action === 'delete' || one.status !== 'disabled');
    const chosen = this.batches === 'circling' && !dry_run ? [...this.monitors.values()] : found;
    const ids = chosen.slice(0, limit).map(({ id }) => id);
    if (!dry_run) {
      seen.ids = ids;
      for (const id of ids) {
        if (action === 'delete') this.monitors.delete(id);
        else this.change(id, { status: action === 'pause' ? 'paused' : 'active' });
      }
    }
    const more = this.batches === 'honest' || dry_run ? found.length > limit : true;
    return { action, affected: ids.length, ids, dry_run, has_more: more };
  }

  /** The newest first. */
  #matching(filter: {
    status?: string | undefined;
    name?: string | undefined;
    metadata?: Record<string, string> | undefined;
  }) {
    return [...this.monitors.values()]
      .filter(
        (one) =>
          (filter.status === undefined || one.status === filter.status) &&
          (filter.name === undefined || one.name?.toLowerCase().includes(filter.name.toLowerCase())) &&
          Object.entries(filter.metadata ?? {}).every(([key, value]) => one.metadata?.[key] === value),
      )
      .sort((a, b) => b.serial - a.serial);
  }
}

function publicRecord({ serial, ...monitor }: StoredMonitor): Record<string, unknown> {
  return { ...monitor, trigger: null, outputSchema: null, nextRunAt: null };
}

function plainOf(url: URL): [string, string][] {
  return [...url.searchParams].filter(([name]) => !name.startsWith('metadata['));
}

function pageOf<T>(
  found: readonly T[],
  limit: number,
  cursor: string | undefined,
  serialOf: (one: T) => number,
  shown: (one: T) => unknown,
): unknown {
  const before = cursor === undefined ? Number.POSITIVE_INFINITY : Number(Buffer.from(cursor, 'base64url').toString());
  if (Number.isNaN(before)) throw new Refused(400, 'no such cursor');
  const rest = found.filter((one) => serialOf(one) < before);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const hasMore = rest.length > limit;
  const nextCursor = hasMore && last ? Buffer.from(String(serialOf(last))).toString('base64url') : null;
  return { data: page.map(shown), hasMore, nextCursor };
}
