import { join } from 'node:path';
import { openWarehouse } from './sql.mjs';

const tables = [
  ...['websets', 'webset_searches', 'webset_imports', 'webset_enrichments', 'webset_items', 'webset_monitors'],
  ...['webset_monitor_runs', 'webset_exports', 'webset_item_enrichments', 'events'],
];
/** Columns about the load, whose values differ from run to run. */
const OWN = ['load_id', 'page', 'list_order', 'loaded_at', 'digest'];

/** The judge of walks: every event is loaded once, the watermark is the newest event, and the tables equal those of an undisturbed run. */
export async function judgeEvents(campaign) {
  const { service, findings, warehouse, postgres, dir, toEnd } = campaign;
  const straight = postgres ? await postgres.database('straight') : join(dir, 'out', 'straight.duckdb');
  const sync = (into) =>
    toEnd(['events', 'sync', '--into', into, '--json'], {
      ...(postgres ? { SEARCHFLOW_WAREHOUSE_URL: into } : {}),
      NODE_OPTIONS: '',
    });
  // After ten minutes all late events are listed, and another sync finds them.
  service.events.advance(10 * 60_000);
  await sync(warehouse);
  await sync(straight);
  const found = await read(campaign, warehouse);
  const undisturbed = await read(campaign, straight);
  const wanted = service.events.ids();
  const ids = new Set(found.ids);
  const missing = wanted.filter((id) => !ids.has(id));
  const different = tables.filter((table) => found.sums[table] !== undisturbed.sums[table]);
  const holds = (isSo, sentence) => isSo || findings.push(sentence);
  holds(missing.length === 0, `lost: ${missing.length} events, such as ${missing[0]}`);
  holds(found.ids.length === ids.size, `doubled: ${found.ids.length - ids.size} events`);
  holds(found.ids.length === wanted.length, `${found.ids.length} events loaded, ${wanted.length} happened`);
  holds(found.pending === 0, `${found.pending} windows are not done`);
  holds(found.watermark === service.events.newest(), `watermark ${found.watermark}, newest ${service.events.newest()}`);
  holds(different.length === 0, `other contents than in an undisturbed run: ${different.join(', ')}`);
  const refused = service.log.filter((call) => call.refused !== null).length;
  return {
    ...{ events: wanted.length, rows: found.ids.length, requests: service.log.length, refused },
    rowsOfTables: Object.fromEntries(tables.map((table) => [table, found.sums[table].split(' ')[0]])),
  };
}

/** The contents of a warehouse: the ids of events, the watermarks, and a checksum of each table. */
async function read(campaign, address) {
  const { isPostgres, query, close } = await openWarehouse(campaign, address);
  try {
    const ids = (await query('SELECT id FROM events')).map(({ id }) => id);
    const at = isPostgres ? 'extract(epoch FROM watermark) * 1000' : 'epoch_ms(watermark)';
    const [sync] = await query(`SELECT CAST(${at} AS DOUBLE PRECISION) AS at FROM event_streams WHERE stream = 'sync'`);
    const [left] = await query('SELECT CAST(count(*) AS INTEGER) AS windows FROM event_windows WHERE done = 0');
    const sums = {};
    for (const table of tables) {
      const schema = isPostgres ? 'current_schema()' : "'main'";
      const columns = await query(
        `SELECT column_name AS name FROM information_schema.columns
         WHERE table_name = '${table}' AND table_schema = ${schema} ORDER BY 1`,
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
