// SIGKILL of the command, the Temporal server and PostgreSQL at random while a backfill and a sync load one service's events; then
// the judgement: every id once, the watermark at the newest event, and tables equal to those of a run that nobody disturbed.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import pg from 'pg';
import { startService } from '../service/service.mjs';
import { startPostgres } from './postgres-server.mjs';

const command = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'dist', 'cli', 'main.js');
const tables = [
  ...['websets', 'webset_searches', 'webset_imports', 'webset_enrichments', 'webset_items', 'webset_monitors'],
  ...['webset_monitor_runs', 'webset_exports', 'webset_item_enrichments', 'events'],
];
/** How and when events were loaded differs between runs. */
const OWN = ['load_id', 'page', 'loaded_at', 'digest'];

/** Processes whose state directory this is: it is in their environment, or among their arguments. */
function processesOf(dir) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const read = (file) => readFileSync(`/proc/${pid}/${file}`, 'utf8').replaceAll('\0', ' ');
        const line = read('cmdline');
        return line.includes(dir) || read('environ').includes(dir) ? [{ pid: Number(pid), line }] : [];
      } catch {
        return [];
      }
    });
}

function kill(pids) {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
}

export async function killEvents({
  events = 20_000,
  kills = 4,
  into = 'duckdb',
  order = 'newest',
  qps = 40,
  seed = 1,
  say = () => undefined,
}) {
  const dir = mkdtempSync(join(tmpdir(), 'searchflow-kills-'));
  const from = Date.UTC(2025, 0, 1);
  const to = Date.UTC(2025, 11, 31);
  const disorder = { order, repeatRecords: 13, repeatPage: 397, cursorTtlMs: 20_000, lateMs: 90_000 };
  const service = await startService({ qps, events: { count: events, from, to, ...disorder } });
  const postgres = into === 'postgres' ? await startPostgres() : null;
  const warehouse = postgres ? await postgres.database('warehouse') : join(dir, 'out.duckdb');
  const straight = postgres ? await postgres.database('straight') : join(dir, 'straight.duckdb');
  const state = join(dir, 'state');
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    ...(process.env.TEMPORAL_CLI ? { TEMPORAL_CLI: process.env.TEMPORAL_CLI } : {}),
    SEARCHFLOW_API_KEY: 'key-of-the-killed',
    SEARCHFLOW_BASE_URL: service.url,
    SEARCHFLOW_STATE_DIR: state,
    SEARCHFLOW_QPS: String(qps),
    XDG_STATE_HOME: dir,
    ...(postgres ? { SEARCHFLOW_WAREHOUSE_URL: warehouse } : {}),
  };
  let random = seed;
  const next = () => {
    random = (random * 48271) % 2147483647;
    return random / 2147483647;
  };

  const living = new Set();
  let deaths = 0;
  /** Runs a command again and again until it says that it is done; it may fail only of what was killed meanwhile. */
  async function toEnd(args, more = {}) {
    for (;;) {
      const before = deaths;
      const child = spawn(process.execPath, [command, 'events', ...args, '--json'], {
        cwd: dir,
        env: { ...env, ...more },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      living.add(child);
      let [out, err] = ['', ''];
      child.stdout.on('data', (data) => (out += data));
      child.stderr.on('data', (data) => (err = (err + data).slice(-3000)));
      const code = await new Promise((resolve) => child.once('close', resolve));
      living.delete(child);
      if (code === 0) return out.trim();
      if (code !== null) say(`${args[0]} ended with ${code}: ${err.trim().split('\n').at(-1)}`);
      if (code !== null && deaths === before) throw new Error(`${args.join(' ')} ended with ${code}\n${err}`);
    }
  }

  const backfill = ['backfill', '--from', new Date(from).toISOString(), '--until', new Date(to).toISOString()];
  try {
    const count = { all: 0, command: 0, server: 0, postgres: 0 };
    const kinds = [...(postgres ? ['postgres'] : []), 'command', 'server', 'all'];
    let over = false;
    const walks = Promise.all([
      toEnd([...backfill, '--into', warehouse]),
      toEnd(['sync', '--into', warehouse]),
    ]).finally(() => (over = true));
    walks.catch(() => undefined);
    // Both walks together ask for each page at least once.
    const between = events / 100 / (kills + 1);
    while (deaths < kills && !over) {
      const until = service.log.length + between * (0.3 + next());
      while (service.log.length < until && !over) await delay(20);
      if (over) break;
      const kind = kinds[deaths % kinds.length];
      deaths++;
      count[kind]++;
      if (kind === 'postgres') {
        await postgres.kill();
        await delay(next() * 1000);
        await postgres.start();
      } else if (kind === 'command') kill([[...living][Math.floor(next() * living.size)]?.pid].filter(Boolean));
      else
        kill(
          processesOf(state).flatMap(({ pid, line }) => (kind === 'all' || line.includes('start-dev') ? [pid] : [])),
        );
      say(`kill ${deaths}: ${kind}, ${service.log.length} requests so far`);
    }
    await walks;
    // Everything late shows up, and a sync finds it.
    service.events.advance(10 * 60_000);
    say(`${service.log.length} requests; the last sync, and an undisturbed run`);
    await toEnd(['sync', '--into', warehouse]);
    await toEnd(['sync', '--into', straight], postgres ? { SEARCHFLOW_WAREHOUSE_URL: straight } : {});
    const found = await judge(warehouse);
    const undisturbed = await judge(straight);
    const ids = new Set(found.ids);
    const wanted = service.events.ids();
    return {
      kills: count,
      deaths,
      events: wanted.length,
      rows: found.ids.length,
      missing: wanted.filter((id) => !ids.has(id)).length,
      doubled: found.ids.length - ids.size,
      watermark: found.watermark,
      newest: service.events.newest(),
      pending: found.pending,
      different: tables.filter((table) => found.sums[table] !== undisturbed.sums[table]),
      rowsOfTables: Object.fromEntries(tables.map((table) => [table, found.sums[table].split(' ')[0]])),
      requests: service.log.length,
      refused: service.log.filter(({ refused }) => refused !== null).length,
    };
  } finally {
    kill([...living].map(({ pid }) => pid));
    kill(processesOf(dir).map(({ pid }) => pid));
    await service.close();
    await postgres?.stop();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** What a warehouse holds: ids, marks, and a checksum of each table. */
async function judge(warehouse) {
  const isPostgres = warehouse.startsWith('postgres');
  const { query, close } = isPostgres ? await sharedPostgres(warehouse) : await openDuckDb(warehouse);
  try {
    const ids = (await query('SELECT id FROM events')).map(({ id }) => id);
    const at = isPostgres ? 'extract(epoch FROM watermark) * 1000' : 'epoch_ms(watermark)';
    const [sync] = await query(`SELECT CAST(${at} AS DOUBLE PRECISION) AS at FROM event_streams WHERE stream = 'sync'`);
    const [left] = await query('SELECT CAST(count(*) AS INTEGER) AS windows FROM event_windows WHERE done = 0');
    const sums = {};
    for (const table of tables) {
      const columns = await query(
        `SELECT column_name AS name FROM information_schema.columns WHERE table_name = '${table}' AND table_schema = ${isPostgres ? 'current_schema()' : "'main'"} ORDER BY 1`,
      );
      const names = columns.map(({ name }) => name).filter((name) => !OWN.includes(name));
      const hash = isPostgres
        ? `hashtextextended(CAST(ROW(${names.join(', ')}) AS text), 0)`
        : `CAST(hash(${names.join(', ')}) AS HUGEINT)`;
      const [sum] = await query(
        `SELECT CAST(count(*) AS text) AS rows, CAST(sum(${hash}) AS text) AS sum FROM ${table}`,
      );
      sums[table] = `${sum.rows} ${sum.sum}`;
    }
    return { ids, watermark: sync?.at ?? null, pending: left.windows, sums };
  } finally {
    await close();
  }
}

async function openDuckDb(file) {
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY', memory_limit: '512MB', threads: '1' });
  const connection = await instance.connect();
  return {
    query: async (sql) => (await connection.runAndReadAll(sql)).getRowObjectsJS(),
    close: async () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

async function sharedPostgres(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('SET search_path = searchflow');
  return { query: async (sql) => (await client.query(sql)).rows, close: () => client.end() };
}
