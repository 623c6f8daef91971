import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { AgentRunStore } from '../../core/agent-run-sync.js';
import type { EventWarehouse, WindowPages } from '../../core/events/event-warehouse.js';
import type { MonitorWarehouse } from '../../core/monitors/monitor-warehouse.js';
import type { Publisher } from '../../core/publish-request.js';
import { createAgentRunStore } from '../agent-run-store.js';
import type { EventTransaction, StagedPages } from '../events/event-sql.js';
import { createEventStore } from '../events/event-store.js';
import type { Transact } from '../monitors/batch-audit.js';
import type { MonitorDialect } from '../monitors/record-fields.js';
import { createMonitorStore } from '../monitors/run-store.js';
import type { OpenedWarehouse, WarehousesOptions } from '../shared/database.js';
import { literal, plainPath } from '../shared/duckdb-quote.js';
import { inTransaction } from '../shared/in-transaction.js';
import { mendSurrogates, withoutHalves } from '../shared/mend-escapes.js';
import { hasHalves, inOneLine } from '../shared/one-line.js';
import { createDuckDbRows } from './duckdb-rows.js';
import { duckDbDialect } from './schema.js';
import { duckDbSql } from './sql-dialect.js';
import { sqlTransaction } from './sql-transaction.js';
import { Warehouse, type WarehouseFile } from './warehouse.js';

/** Opens the warehouse in a DuckDB file. Nothing is read or created before the first use. */
export function openDuckDbWarehouse(
  address: string,
  { say = () => undefined, credentialsFor, extensions, check }: WarehousesOptions,
): OpenedWarehouse {
  const options = { file: resolve(address), say, check };
  const rows = createDuckDbRows(options);
  const [events, monitors] = [createDuckDbEvents(options), createDuckDbMonitors(options)];
  // Loaded by the first publish, because few commands publish.
  const loaded = async () =>
    (await import('./duckdb-publisher.js')).duckDbPublisher(Warehouse.at(options.file, check), {
      ...{ say, credentialsFor, extensions, check },
    });
  const publisher: Publisher = {
    publish: async (request) => (await loaded()).publish(request),
    check: async (to) => (await loaded()).check(to),
  };
  const agentRuns = createDuckDbAgentRuns(options);
  return { rows, events, monitors, agentRuns, publisher, close: () => rows.close() };
}

/**
 * Returns the webset events of a DuckDB file. The same file may hold the rows of jobs. Call this function once for each file and process.
 */
export function createDuckDbEvents(options: WarehouseFile): EventWarehouse {
  const warehouse = Warehouse.at(resolve(options.file), options.check);
  return createEventStore({
    dialect: duckDbDialect,
    exists: () => warehouse.exists(),
    transaction: (purpose, work) => {
      const inOne = (connection: DuckDBConnection) => inTransaction(connection, () => work(transactionOn(connection)));
      if (purpose === 'all') return warehouse.use(inOne);
      return warehouse.use(inOne, queues[purpose], {
        reads: purpose === 'read',
        threads: purpose === 'foldAll' ? 2 : 1,
      });
    },
    stage: (_tx, batch) => stagePages(batch),
    close: () => warehouse.close(),
  });
}

/**
 * During loads the current state is updated on a second connection, and so on a second core. After the last load the state is updated on
 * both cores, because no load uses the other core then.
 */
const queues = { read: ['incoming'], write: ['incoming'], fold: ['state'], foldAll: ['state'] } as const;

function transactionOn(connection: DuckDBConnection): EventTransaction {
  const tx = sqlTransaction(connection);
  return { ...tx, runOnMany: tx.run };
}

/** Returns the monitors of a DuckDB file. The same file may hold the rows of jobs. Call this function once for each file and process. */
function createDuckDbMonitors(options: WarehouseFile): MonitorWarehouse {
  return createMonitorStore(duckDbMonitors, ...partsOf(options));
}

/** Returns the agent runs of a DuckDB file; see `createDuckDbMonitors`. */
function createDuckDbAgentRuns(options: WarehouseFile): AgentRunStore {
  return createAgentRunStore(duckDbMonitors, ...partsOf(options));
}

function partsOf({ file, check }: WarehouseFile): readonly [transact: Transact, close: () => Promise<void>] {
  const warehouse = Warehouse.at(resolve(file), check);
  return [(work) => warehouse.transaction((connection) => work(sqlTransaction(connection))), () => warehouse.close()];
}

/** The statements for monitors in DuckDB's SQL. */
const duckDbMonitors: MonitorDialect = {
  ...duckDbSql,
  texts: (parameter) => `SELECT unnest(from_json(CAST(${parameter} AS JSON), '["VARCHAR"]'))`,
  plain: withoutHalves,
};

const KNOWN = ['id', 'object', 'type', 'data', 'createdAt'];
const { id, time } = duckDbDialect;
/**
 * Size of a scratch file. DuckDB holds several copies of a whole file in memory: 64 MB of pages need 48 MB of memory as files
 * of this size, but 250 MB as one file.
 */
const FILE_BYTES = 1_048_576;

/** Writes pages into scratch files for DuckDB, one page on each line. The bytes of a page are not re-coded. */
async function stagePages(batch: readonly WindowPages[]): Promise<StagedPages> {
  const dir = await mkdtemp(join(tmpdir(), 'searchflow-events-'));
  const remove = () => rm(dir, { recursive: true, force: true });
  try {
    const { files, longest } = await write(dir, batch);
    return { events: (whole) => query(files, longest, whole), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Returns the files and the length of the longest line. */
async function write(dir: string, batch: readonly WindowPages[]) {
  const files: ScratchFile[] = [];
  let longest = 0;
  for (const [part, { pages }] of batch.entries()) {
    for (const { page, events } of pages) {
      const line = inOneLine(events, hasHalves, mendSurrogates);
      let file = files.at(-1);
      if (file === undefined || file.bytes >= FILE_BYTES) {
        file = { name: join(dir, `${files.length}.jsonl`), pieces: [], bytes: 0 };
        files.push(file);
      }
      for (const piece of [Buffer.from(`{"part":${part},"page":${page},"events":`), line, Buffer.from('}\n')]) {
        file.pieces.push(piece);
        file.bytes += piece.length;
      }
      longest = Math.max(longest, line.length);
    }
  }
  // Files are written in parallel. In sequence, most of the time would be spent waiting for a thread.
  const written = await Promise.allSettled(files.map(writeOne));
  for (const one of written) if (one.status === 'rejected') throw one.reason;
  return { files: files.map(({ name }) => name), longest: longest + 100 };
}

interface ScratchFile {
  readonly name: string;
  readonly pieces: Uint8Array[];
  bytes: number;
}

async function writeOne({ name, pieces, bytes }: ScratchFile): Promise<void> {
  const handle = await open(name, 'wx', 0o600);
  try {
    const { bytesWritten } = await handle.writev(pieces);
    if (bytesWritten < bytes) throw new Error(`ENOSPC: ${bytesWritten} of ${bytes} bytes written, write '${name}'`);
  } finally {
    await handle.close();
  }
}

/**
 * Query of the events in the files. Events are read as structs, or with `whole` as maps. Reading maps takes longer and keeps unknown
 * fields. DuckDB's buffers have twice the size of the longest line.
 */
function query(files: readonly string[], longest: number, whole: boolean): string {
  const form = whole ? 'MAP(VARCHAR, JSON)' : 'STRUCT(id VARCHAR, type VARCHAR, "createdAt" VARCHAR, data JSON)';
  const lines = `read_json([${files.map((file) => literal(plainPath(file))).join(', ')}], format = 'newline_delimited', compression = 'uncompressed',
    columns = {part: 'INTEGER', page: 'INTEGER', events: '${form}[]'}, maximum_object_size = ${longest})`;
  const each = `SELECT part, page, unnest(events) AS e, generate_subscripts(events, 1) AS n FROM ${lines}`;
  if (!whole) {
    return `SELECT part, page, n, ${id('e.id')} AS id, coalesce(e.type, 'unknown') AS type, ${time('e."createdAt"')} AS created_at, e.data AS data FROM (${each}) l`;
  }
  const text = (name: string) => `json_extract_string(e['${name}'], '$')`;
  const strange = `list_filter(map_entries(e), lambda one: one.key NOT IN ('${KNOWN.join("', '")}'))`;
  return `SELECT part, page, n, ${id(text('id'))} AS id, coalesce(${text('type')}, 'unknown') AS type, ${time(text('createdAt'))} AS created_at,
      e['data'] AS data, CASE WHEN cardinality(e) <> ${KNOWN.length} OR e['object'] IS NULL THEN
        CASE WHEN len(${strange}) > 0 THEN to_json(map_from_entries(${strange})) END END AS extra
    FROM (${each}) l`;
}
