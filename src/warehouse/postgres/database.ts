import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { WindowPages } from '../../core/events/event-warehouse.js';
import { replaceTokens } from '../../core/text/exact-json.js';
import type { PgTransaction } from '../../postgres/index.js';
import { postgresAddressOf } from '../addresses.js';
import type { Database, WarehousesOptions } from '../database.js';
import type { EventDatabase, EventTransaction, StagedPages } from '../events/event-sql.js';
import type { SourceDatabase } from '../export/job-rows.js';
import type { RowDatabase } from '../rows/row-sql.js';
import { unpurged } from '../rows/row-store.js';
import { mendForPostgres } from '../shared/mend-escapes.js';
import { hasHalvesOrNul, inOneLine } from '../shared/one-line.js';
import { setMemory, withScratchDuckDb } from '../shared/scratch-duckdb.js';
import { postgresDialect } from './event-dialect.js';
import { partOf, tableOf } from './export-part.js';
import { postgresRowDialect } from './row-dialect.js';
import { rowTransaction, sqlTransaction } from './row-transaction.js';
import { postgresSql } from './sql-dialect.js';
import { Warehouse } from './warehouse.js';

/**
 * The warehouse in a schema of a PostgreSQL database. `address`:
 * `postgres://user:password@host:5432/database?schema=name&sslmode=require`; the default schema is `searchflow`. Several processes may load
 * into the schema at the same time. Nothing is read or created before the first use. While the database is unavailable or locked, every
 * method waits and then rejects with `WarehouseBusy`. Throws `WarehouseUnusable` for a text that is not an address.
 */
export function postgresDatabase(address: string, options: WarehousesOptions): Database {
  const url = options.credentialsFor?.(postgresAddressOf(address).carried)?.reveal() ?? address;
  const warehouse = new Warehouse(url, options);
  const close = () => warehouse.close();
  return {
    shown: warehouse.shown,
    file: null,
    exists: () => warehouse.exists(),
    rows: rowsOf(warehouse),
    events: eventsOf(warehouse),
    records: {
      dialect: postgresSql,
      transact: (work) => warehouse.transaction((tx) => work(sqlTransaction(tx, postgresSql))),
      close,
    },
    source: sourceOf(warehouse),
    patiently: (work) => work(),
    close,
  };
}

function rowsOf(warehouse: Warehouse): RowDatabase {
  const dialect = postgresRowDialect(`${warehouse.schema}.`);
  const transaction: RowDatabase['transaction'] = (purpose, work) =>
    warehouse[purpose === 'read' ? 'read' : 'transaction']((tx) => work(rowTransaction(tx, dialect)));
  return {
    dialect,
    make: () => warehouse.make(),
    transaction,
    async purge() {
      const problem = await warehouse.vacuum(['row_store', 'misfits', 'unknown_outcomes']);
      if (problem === null)
        await transaction('write', (tx) => tx.run(`UPDATE row_marks SET before = ${dialect.now()} WHERE ${unpurged}`));
      return problem;
    },
  };
}

const eventsOf = (warehouse: Warehouse): EventDatabase => ({
  dialect: postgresDialect(),
  transaction: (purpose, work) =>
    warehouse.transaction(async (tx) => {
      for (const lock of locks[purpose])
        await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), ${lock}))`);
      return work(eventTransaction(tx));
    }),
});

/**
 * Numbers of two locks, which are always taken in this order. `LOADS`: one transaction at a time looks up ids and inserts events, because
 * two transactions at once would not see the ids of each other. `STATE`: one transaction at a time updates the current state.
 */
const [LOADS, STATE] = [4, 5];
const locks = { read: [], write: [LOADS], fold: [STATE], foldAll: [STATE], all: [LOADS, STATE] } as const;

function eventTransaction(tx: PgTransaction): EventTransaction {
  const statements = sqlTransaction(tx, postgresDialect());
  return {
    ...statements,
    async runOnMany(sql, values) {
      // New tables have no statistics, so the planner would choose a nested loop over thousands of rows.
      await tx.query('SET LOCAL enable_nestloop = off');
      await statements.run(sql, values);
      await tx.query('SET LOCAL enable_nestloop = on');
    },
    stage: (batch) => stagePages(tx, batch),
  };
}

/** Copies rows into a scratch DuckDB, while loads continue. */
function sourceOf(warehouse: Warehouse): SourceDatabase {
  const dialect = postgresRowDialect(`${warehouse.schema}.`);
  return (scratch, manner, work) => {
    const lines = join(scratch, 'source.jsonl');
    const open = (read: <T>(work: (tx: PgTransaction) => Promise<T>) => Promise<T>) =>
      withScratchDuckDb(join(scratch, 'spill'), (connection) =>
        work({
          connection,
          need: (megabytes) => setMemory(connection, megabytes),
          read: (one) => read((tx) => one(rowTransaction(tx, dialect))),
          part: (where, from, to) => read((tx) => partOf(tx, where, from, to, lines)),
          table: (table) => read((tx) => tableOf(tx, table, lines)),
        }),
      );
    if (manner === 'snapshot') return warehouse.read((tx) => open((one) => one(tx)), { snapshot: true });
    return open((one) => warehouse.read(one));
  };
}

/** Format of COPY with a delimiter and a quote that no JSON text contains, so that each field is taken as it is. */
const RAW = `(FORMAT csv, DELIMITER E'\\x02', QUOTE E'\\x01', NULL '')`;
const BETWEEN = '\x02';

/** How a page is repaired. `isOdd`: whether the page may have values that need a repair. */
interface Mending {
  readonly mend: (json: string) => string;
  readonly isOdd: (bytes: Buffer) => boolean;
}

/**
 * Copies pages into a temporary table, one page in each row; the server parses each page once. Values that jsonb cannot hold are repaired.
 * For a page with such values the column `exact` has the original events.
 */
async function stagePages(tx: PgTransaction, batch: readonly WindowPages[]): Promise<StagedPages> {
  await tx.query('CREATE TEMP TABLE event_pages (part integer, page integer, exact json, events jsonb) ON COMMIT DROP');
  // Pages are read once and dropped. Compressing the pages would take longer than the rest of the load.
  await tx.query('ALTER TABLE event_pages ALTER COLUMN events SET STORAGE EXTERNAL');
  await tx.query('SAVEPOINT pages');
  try {
    await copy(tx, batch, { mend: mendForPostgres, isOdd: hasHalvesOrNul });
  } catch (error) {
    // Numbers out of range are repaired only after the server has refused such a number.
    if (codeOf(error) !== '22003') throw error;
    await tx.query('ROLLBACK TO SAVEPOINT pages');
    await copy(tx, batch, { mend: (json) => mendForPostgres(quoteHuge(json)), isOdd: () => true });
  }
  return {
    // OFFSET 0 prevents a join before the pages are unpacked: a page would then be unpacked once for each of its events.
    events:
      () => `SELECT p.part, p.page, l.n, searchflow_id(l.value ->> 'id') AS id, coalesce(l.value ->> 'type', 'unknown') AS type,
        searchflow_time(l.value ->> 'createdAt') AS created_at, l.value -> 'data' AS data,
        nullif(l.value - '{id,object,type,data,createdAt}'::text[], '{}') AS extra,
        CASE WHEN l.exact::text ~ '\\\\u0000|\\\\u[dD][89a-fA-F]|[eE][+-]?[0-9]{4}|[0-9.]{255}' THEN l.exact END AS event_exact
      FROM event_pages p CROSS JOIN LATERAL
        ROWS FROM (jsonb_array_elements(p.events), json_array_elements(p.exact)) WITH ORDINALITY l(value, exact, n)
      OFFSET 0`,
    remove: async () => undefined,
  };
}

async function copy(tx: PgTransaction, batch: readonly WindowPages[], mending: Mending): Promise<void> {
  const { from } = await import('pg-copy-streams');
  await pipeline(Readable.from(lines(batch, mending)), tx.client.query(from(`COPY event_pages FROM STDIN ${RAW}`)));
}

function* lines(batch: readonly WindowPages[], { mend, isOdd }: Mending): Generator<Uint8Array | string> {
  for (const [part, { pages }] of batch.entries()) {
    for (const { page, events } of pages) {
      const bytes = Buffer.from(events.buffer, events.byteOffset, events.byteLength);
      yield [part, page, ''].join(BETWEEN);
      if (isOdd(bytes)) yield inOneLine(bytes, () => false, mend);
      yield BETWEEN;
      yield inOneLine(bytes, isOdd, mend);
      yield '\n';
    }
  }
}

/** Numbers with an exponent of four digits or more, or with a thousand digits, become texts. Texts that look like such numbers do not change. */
function quoteHuge(json: string): string {
  const huge = /-?\d+(?:\.\d+)?[eE][+-]?\d{4,}|-?[\d.]{1000,}(?:[eE][+-]?\d+)?/;
  return replaceTokens(json, huge, (token) => `"${token}"`);
}

function codeOf(error: unknown): unknown {
  return error instanceof Error ? (error as { code?: unknown }).code : undefined;
}
