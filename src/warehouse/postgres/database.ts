import type { AgentRunStore } from '../../core/agent-run-sync.js';
import type { EventWarehouse } from '../../core/events/event-warehouse.js';
import type { MonitorWarehouse } from '../../core/monitors/monitor-warehouse.js';
import type { Publisher } from '../../core/publish-request.js';
import { isPostgresUrl, type PgTransaction } from '../../postgres/index.js';
import { createAgentRunStore } from '../agent-run-store.js';
import type { EventTransaction } from '../events/event-sql.js';
import { createEventStore } from '../events/event-store.js';
import type { Transact } from '../monitors/batch-audit.js';
import type { MonitorDialect } from '../monitors/monitor-sql.js';
import { createMonitorStore } from '../monitors/monitor-store.js';
import type { WarehouseDatabase } from '../shared/database.js';
import { withoutNul } from '../shared/mend-escapes.js';
import { postgresDialect } from './event-dialect.js';
import { createPostgresRows } from './postgres-rows.js';
import { postgresSql } from './sql-dialect.js';
import { sqlTransaction } from './sql-transaction.js';
import { stagePages } from './stage-pages.js';
import { addressOf, Warehouse, type WarehouseOptions } from './warehouse.js';

/** The form of an address, for messages. */
export const POSTGRES_FORM = 'postgres://host:5432/database';

/** Schemas of PostgreSQL databases. */
export const postgres: WarehouseDatabase = {
  form: POSTGRES_FORM,
  claims: isPostgresUrl,
  addressOf: (address) => addressOf(address).carried,
  identityOf: (address) => addressOf(address).shown,
  fileOf: () => null,
  whyNoFile: () => null,
  open(address, { credentialsFor, say = () => undefined, extensions, check }) {
    const url = credentialsFor?.(addressOf(address).carried)?.reveal() ?? address;
    const warehouse = new Warehouse(url, { say });
    // Loaded by the first publish, because few commands publish.
    const loaded = async () =>
      (await import('./postgres-publisher.js')).postgresPublisher(warehouse, {
        ...{ say, credentialsFor, extensions },
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
  },
};

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
