import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { WindowPages } from '../../core/events/event-warehouse.js';
import { WarehouseBusy } from '../../core/rows/warehouse-errors.js';
import type { Database, WarehousesOptions } from '../database.js';
import type { EventDatabase, EventTransaction, StagedPages } from '../events/event-sql.js';
import type { SourceDatabase } from '../export/job-rows.js';
import type { RowDatabase } from '../rows/row-sql.js';
import { unpurged } from '../rows/row-store.js';
import { literal, plainPath } from '../shared/duckdb-quote.js';
import { inTransaction } from '../shared/in-transaction.js';
import { mendSurrogates } from '../shared/mend-escapes.js';
import { hasHalves, inOneLine } from '../shared/one-line.js';
import type { RelationColumn } from '../shared/relation.js';
import { duckDbRowDialect } from './row-dialect.js';
import { memoryFor, rowTransaction } from './row-transaction.js';
import { duckDbDialect } from './schema.js';
import { duckDbSql } from './sql-dialect.js';
import { sqlTransaction } from './sql-transaction.js';
import { Warehouse } from './warehouse.js';

/**
 * The warehouse in a DuckDB file. Nothing is read or created before the first use. While another process has the file open, every method
 * rejects with `WarehouseBusy`.
 */
export function duckDbDatabase(address: string, { check }: WarehousesOptions): Database {
  const warehouse = Warehouse.at(resolve(address), check);
  const close = () => warehouse.close();
  return {
    shown: warehouse.file,
    file: warehouse.file,
    exists: () => warehouse.exists(),
    rows: rowsOf(warehouse),
    events: eventsOf(warehouse),
    records: {
      dialect: duckDbSql,
      transact: (work) => warehouse.transaction((connection) => work(sqlTransaction(connection, duckDbSql))),
      close,
    },
    source: sourceOf(warehouse),
    patiently,
    close,
  };
}

function rowsOf(warehouse: Warehouse): RowDatabase {
  const transaction: RowDatabase['transaction'] = (purpose, work, longest = 0) =>
    warehouse.transaction((connection) => work(rowTransaction(connection, longest)), {
      reads: purpose === 'read',
      memory: memoryFor(longest),
    });
  return {
    dialect: duckDbRowDialect,
    // The first use creates the tables.
    make: async () => undefined,
    transaction,
    async purge() {
      const found = await transaction('read', (tx) => tx.rows(`SELECT 1 FROM row_marks WHERE ${unpurged} LIMIT 1`));
      if (found.length > 0)
        await warehouse.rewrite(`UPDATE row_marks SET before = ${duckDbRowDialect.now()} WHERE ${unpurged}`);
      return null;
    },
  };
}

const eventsOf = (warehouse: Warehouse): EventDatabase => ({
  dialect: duckDbDialect,
  transaction: (purpose, work) => {
    const inOne = (connection: DuckDBConnection) => inTransaction(connection, () => work(eventTransaction(connection)));
    if (purpose === 'all') return warehouse.use(inOne);
    return warehouse.use(inOne, queues[purpose], {
      reads: purpose === 'read',
      threads: purpose === 'foldAll' ? 2 : 1,
    });
  },
});

/**
 * During loads the current state is updated on a second connection, and so on a second core. After the last load the state is updated on
 * both cores, because no load uses the other core then.
 */
const queues = { read: ['incoming'], write: ['incoming'], fold: ['state'], foldAll: ['state'] } as const;

function eventTransaction(connection: DuckDBConnection): EventTransaction {
  const tx = sqlTransaction(connection, duckDbDialect);
  return { ...tx, runOnMany: tx.run, stage: stagePages };
}

/** Reads the file itself. All loads wait meanwhile. */
const sourceOf =
  (warehouse: Warehouse): SourceDatabase =>
  (_scratch, _manner, work) =>
    warehouse.use(
      (connection, grant) =>
        inTransaction(connection, () =>
          work({
            connection,
            need: (memory) => grant({ memory }),
            read: (one) => one(rowTransaction(connection)),
            part: async (where, from, to) =>
              `SELECT * FROM row_store WHERE ${where} AND row_number BETWEEN ${from} AND ${to}`,
            table: async ({ name, columns }) => `SELECT ${columns.map(plainColumn).join(', ')} FROM ${name}`,
          }),
        ),
      undefined,
      { reads: true },
    );

/** JSON columns are text in files, because every reader supports text. */
const plainColumn = ({ name, type }: RelationColumn): string =>
  type === 'json' || type === 'parsed' ? `CAST(${name} AS VARCHAR) AS ${name}` : name;

/** Time in ms for which an export waits while another process, such as another export, has the file open. */
const FREE_MS = 10_000;
const POLL_MS = 200;

async function patiently<T>(work: () => Promise<T>): Promise<T> {
  const until = performance.now() + FREE_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof WarehouseBusy) || performance.now() > until) throw error;
      await delay(POLL_MS);
    }
  }
}

/** Waits for the work on a DuckDB file in this process, and keeps the file closed until the returned function is called. */
export const closedWarehouseFile = (file: string): Promise<() => void> => Warehouse.at(resolve(file)).keepClosed();

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
