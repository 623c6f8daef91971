import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { AgentRunStore } from '../../core/agent-run-sync.js';
import type { EventWarehouse, WindowPages } from '../../core/events/event-warehouse.js';
import type { MonitorWarehouse } from '../../core/monitors/monitor-warehouse.js';
import type { Publisher } from '../../core/publish-request.js';
import type { RowWarehouse } from '../../core/rows/row-warehouse.js';
import { replaceTokens } from '../../core/text/exact-json.js';
import type { PgTransaction } from '../../postgres/index.js';
import { postgresAddressOf } from '../addresses.js';
import { createAgentRunStore } from '../agent-run-store.js';
import type { EventTransaction, StagedPages } from '../events/event-sql.js';
import { createEventStore } from '../events/event-store.js';
import { createExports } from '../export/create-exports.js';
import { type JobRows, portionsOf } from '../export/job-rows.js';
import type { Transact } from '../monitors/batch-audit.js';
import type { MonitorDialect } from '../monitors/record-fields.js';
import { createMonitorStore } from '../monitors/run-store.js';
import { createFigures } from '../rows/row-figures.js';
import { createRowPlaces } from '../rows/row-places.js';
import type { Purpose, RowDatabase, RowTransaction } from '../rows/row-sql.js';
import { createRowStore, readJob, unknownJob, unpurged } from '../rows/row-store.js';
import type { FileCheck, OpenedWarehouse, WarehousesOptions } from '../shared/database.js';
import { mendForPostgres, withoutNul } from '../shared/mend-escapes.js';
import { hasHalvesOrNul, inOneLine } from '../shared/one-line.js';
import { setMemory, withScratchDuckDb } from '../shared/scratch-duckdb.js';
import { postgresDialect } from './event-dialect.js';
import { partOf } from './export-part.js';
import { postgresRowDialect } from './row-dialect.js';
import { rowTransaction, sqlTransaction } from './row-transaction.js';
import { postgresSql } from './sql-dialect.js';
import { Warehouse, type WarehouseOptions } from './warehouse.js';

/** Opens the warehouse in a schema of a PostgreSQL database. Nothing is read or created before the first use. */
export function openPostgresWarehouse(
  address: string,
  { credentialsFor, say = () => undefined, extensions, check }: WarehousesOptions,
): OpenedWarehouse {
  const url = credentialsFor?.(postgresAddressOf(address).carried)?.reveal() ?? address;
  const warehouse = new Warehouse(url, { say });
  // Loaded by the first publish, because few commands publish.
  const loaded = async () =>
    (await import('./postgres-publisher.js')).postgresPublisher(warehouse, {
      ...{ say, credentialsFor, extensions, check },
    });
  const publisher: Publisher = {
    publish: async (request) => (await loaded()).publish(request),
    check: async (to) => (await loaded()).check(to),
  };
  return {
    rows: createPostgresRows({ url, say, check }, warehouse),
    events: createPostgresEvents(url, { say }, warehouse),
    monitors: createPostgresMonitors({ url, say }, warehouse),
    agentRuns: createPostgresAgentRuns(warehouse),
    publisher,
    close: () => warehouse.close(),
  };
}

interface PostgresEventTransaction extends EventTransaction {
  readonly tx: PgTransaction;
}

/**
 * Returns the webset events of a schema of a PostgreSQL database. The same schema may hold the rows of jobs. Throws
 * `WarehouseUnusable` for a text that is not an address.
 */
export function createPostgresEvents(
  url: string,
  options: WarehouseOptions = {},
  warehouse = new Warehouse(url, options),
): EventWarehouse {
  return createEventStore<PostgresEventTransaction>({
    dialect: postgresDialect(),
    exists: () => warehouse.exists(),
    transaction: (purpose, work) =>
      warehouse.transaction(async (tx) => {
        for (const lock of locks[purpose])
          await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), ${lock}))`);
        return work(transactionOn(tx));
      }),
    stage: ({ tx }, batch) => stagePages(tx, batch),
    close: () => warehouse.close(),
  });
}

/**
 * Numbers of two locks, which are always taken in this order. `LOADS`: one transaction at a time looks up ids and inserts events, because
 * two transactions at once would not see the ids of each other. `STATE`: one transaction at a time updates the current state.
 */
const [LOADS, STATE] = [4, 5];
const locks = { read: [], write: [LOADS], fold: [STATE], foldAll: [STATE], all: [LOADS, STATE] } as const;

function transactionOn(tx: PgTransaction): PostgresEventTransaction {
  const statements = sqlTransaction(tx);
  return {
    ...statements,
    tx,
    async runOnMany(sql, values) {
      // New tables have no statistics, so the planner would choose a nested loop over thousands of rows.
      await tx.query('SET LOCAL enable_nestloop = off');
      await statements.run(sql, values);
      await tx.query('SET LOCAL enable_nestloop = on');
    },
  };
}

/**
 * Returns the monitors of a schema of a PostgreSQL database. The same schema may hold the rows of jobs; see
 * `createPostgresRows`.
 */
function createPostgresMonitors(
  options: WarehouseOptions & { readonly url: string },
  warehouse = new Warehouse(options.url, options),
): MonitorWarehouse {
  return createMonitorStore(postgresMonitors, ...partsOf(warehouse));
}

/** Returns the agent runs of a schema of a PostgreSQL database. */
function createPostgresAgentRuns(warehouse: Warehouse): AgentRunStore {
  return createAgentRunStore(postgresMonitors, ...partsOf(warehouse));
}

function partsOf(warehouse: Warehouse): readonly [transact: Transact, close: () => Promise<void>] {
  return [(work) => warehouse.transaction((tx) => work(sqlTransaction(tx))), () => warehouse.close()];
}

/** The statements for monitors in PostgreSQL's SQL. */
const postgresMonitors: MonitorDialect = {
  ...postgresSql,
  texts: (parameter) => `SELECT json_array_elements_text(CAST(${parameter} AS json))`,
  plain: withoutNul,
};

/**
 * Returns a schema of a PostgreSQL database as a warehouse. `url`:
 * `postgres://user:password@host:5432/database?schema=name&sslmode=require`; the default schema is `searchflow`. Several processes may load
 * into the schema at the same time. While the database is unavailable or locked, every method waits and then rejects with `WarehouseBusy`.
 * Throws `WarehouseUnusable` for a text that is not an address.
 */
export function createPostgresRows(
  options: WarehouseOptions & { readonly url: string; readonly check?: FileCheck | undefined },
  warehouse = new Warehouse(options.url, options),
): RowWarehouse {
  const { say = () => undefined } = options;
  const dialect = postgresRowDialect(`${warehouse.schema}.`);
  const transaction = <T>(purpose: Purpose, work: (tx: RowTransaction) => Promise<T>): Promise<T> =>
    warehouse[purpose === 'read' ? 'read' : 'transaction']((tx) => work(rowTransaction(tx, dialect)));
  const database: RowDatabase = {
    shown: warehouse.shown,
    dialect,
    exists: () => warehouse.exists(),
    make: () => warehouse.make(),
    transaction,
  };
  return {
    ...createRowStore(database, say),
    ...createRowPlaces(database),
    ...createFigures(database),
    async purgeForgotten() {
      if (!(await warehouse.exists())) return null;
      const problem = await warehouse.vacuum(['row_store', 'misfits', 'unknown_outcomes']);
      if (problem === null)
        await transaction('write', (tx) => tx.run(`UPDATE row_marks SET before = ${dialect.now()} WHERE ${unpurged}`));
      return problem;
    },
    ...createExports({
      file: null,
      say,
      checkTarget: options.check,
      check: async (job) => {
        if (!(await warehouse.exists())) throw unknownJob(job, warehouse.shown);
      },
      read: async (job, scratch, work) => {
        const record = await transaction('read', (tx) => readJob(tx, job, warehouse.shown));
        const part = partOf((bring) => warehouse.read(bring), record.where, join(scratch, 'source.jsonl'));
        const portions: JobRows['portions'] = (from, to) =>
          transaction('read', (tx) => portionsOf(tx, record.where, from, to));
        const rows = { ...record, part, portions };
        return withScratchDuckDb(join(scratch, 'spill'), (connection) =>
          work({ connection, rows, need: (megabytes) => setMemory(connection, megabytes) }),
        );
      },
    }),
    close: () => warehouse.close(),
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
