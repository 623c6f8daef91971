import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import {
  identifier,
  migrate,
  missingRights,
  openPostgres,
  type PgTransaction,
  type Postgres,
  schemaState,
  vacuum,
} from '../../postgres/index.js';
import { postgresAddressOf } from '../addresses.js';
import type { Database, Purpose, WarehousesOptions } from '../database.js';
import { unpurged } from '../rows/row-marks.js';
import { rowTableNames } from '../rows/row-tables.js';
import { checkTables } from '../schema.js';
import { postgresDialect } from './dialect.js';
import { OTHER_SCHEMA, warehouseError } from './errors.js';
import { postgresSchema } from './schema.js';
import { type PgRead, sourceOf } from './source.js';
import { transactionOf } from './transaction.js';

/** Maximum number of connections of a process. Loads of different slices run in parallel. */
const CONNECTIONS = 4;
/** Time in ms after which the caller gets `WarehouseBusy`, and retries. */
const PATIENCE_MS = 30_000;
/** Time in ms for which a suspended process keeps its transaction and locks. */
const STALLED_MS = 60_000;

/**
 * The warehouse in a schema of a PostgreSQL database. `address`:
 * `postgres://user:password@host:5432/database?schema=name&sslmode=require`; the default schema is `searchflow`. Several processes may load
 * into the schema at the same time. Nothing is read or created before the first use. While the database is unavailable or locked, every
 * method waits and then rejects with `WarehouseBusy`. Throws `WarehouseUnusable` for a text that is not an address.
 */
export function postgresDatabase(address: string, options: WarehousesOptions): Database {
  const url = options.credentialsFor?.(postgresAddressOf(address).carried)?.reveal() ?? address;
  const target = postgresAddressOf(url);
  const { say, patienceMs = PATIENCE_MS, stalledMs = STALLED_MS } = options;
  const { shown } = target;
  const schema = identifier(target.schema);
  const dialect = postgresDialect(`${schema}.`);
  // Transactions wait for the locks of other processes, at most for half of the patience. JIT is off, because compiling a small statement takes
  // longer than running it.
  const settings = `SET LOCAL search_path TO ${schema}; SET LOCAL lock_timeout TO ${Math.ceil(patienceMs / 2)};
    SET LOCAL idle_in_transaction_session_timeout TO ${stalledMs}; SET LOCAL jit TO off; SET LOCAL standard_conforming_strings TO on`;
  const pool = kept(() =>
    openPostgres(target, { applicationName: 'searchflow warehouse', max: CONNECTIONS, patienceMs, say }),
  );
  const saying = async <T>(work: (postgres: Postgres) => Promise<T>): Promise<T> => {
    try {
      return await work(await pool.get());
    } catch (error) {
      throw warehouseError(error, shown);
    }
  };
  const migrated = kept(() => saying((postgres) => migrate(postgres, postgresSchema)));
  /** The right to read is enough, unless the warehouse is of an earlier release and is migrated first. */
  const read: PgRead = async (work, isSnapshot = false) => {
    await migrated.get();
    return saying((postgres) =>
      postgres.transaction(
        async (tx) => {
          await tx.query(`${isSnapshot ? 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; ' : ''}${settings}`);
          return work(tx);
        },
        // A load of huge pages over a slow line takes minutes. This limit also ends a process that is suspended during a COPY, because the
        // server does not count a COPY as idle.
        { statementMs: stalledMs * 10 },
      ),
    );
  };
  const made = kept(async () => {
    await read((tx) => checkTables(transactionOf(tx, dialect), shown, OTHER_SCHEMA));
    await saying((postgres) => checkRights(postgres, shown));
  });
  const transaction: Database['transaction'] = async (purpose, work) => {
    if (purpose === 'read') return read((tx) => work(transactionOf(tx, dialect)), true);
    await made.get();
    return read(async (tx: PgTransaction) => {
      for (const lock of locks[purpose])
        await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), ${lock}))`);
      return work(transactionOf(tx, dialect));
    });
  };
  return {
    shown,
    file: null,
    dialect,
    exists: async () => (await saying((postgres) => schemaState(postgres, target.schema, postgresSchema))) !== null,
    make() {
      migrated.drop();
      made.drop();
      return made.get();
    },
    transaction,
    async purge() {
      const problem = await saying((postgres) => vacuum(postgres, ['row_store', 'misfits', 'unknown_outcomes']));
      if (problem === null)
        await transaction('write', (tx) => tx.run(`UPDATE row_marks SET before = ${dialect.now()} WHERE ${unpurged}`));
      return problem;
    },
    source: sourceOf(read, dialect),
    patiently: (work) => work(),
    async close() {
      for (const one of [migrated, made]) one.drop();
      await (await pool.drop())?.close();
    },
  };
}

/**
 * Numbers of two locks, which are always taken in this order. `LOADS`: one transaction at a time looks up ids and inserts events, because
 * two transactions at once would not see the ids of each other. `STATE`: one transaction at a time updates the current state.
 */
const [LOADS, STATE] = [4, 5];
const locks: Readonly<Record<Exclude<Purpose, 'read'>, readonly number[]>> = {
  ...{ write: [], careful: [], events: [LOADS], fold: [STATE], all: [LOADS, STATE] },
};

/** Checks rights and encoding before anything is bought for them. Throws `WarehouseUnusable` with the list of all mistakes. */
async function checkRights(postgres: Postgres, shown: string): Promise<void> {
  const missing = await missingRights(postgres, postgres.address.schema, rowTableNames);
  if (missing.length > 0) {
    throw new WarehouseUnusable(
      'postgres-rights-missing',
      `The user of ${shown} needs ${missing.join(', ')}: ask its owner to grant it`,
    );
  }
  const [server] = await postgres.query<{ encoding: string }>(`SELECT current_setting('server_encoding') AS encoding`);
  if (server?.encoding !== 'UTF8') {
    throw new WarehouseUnusable(
      'postgres-unsuitable',
      `${shown} has the encoding ${server?.encoding}, which cannot hold every page: create a database with UTF8`,
    );
  }
}

/** A value that the first `get` makes, and another `get` makes again after a failure or `drop`, which returns the value if there is one. */
function kept<T>(make: () => Promise<T>) {
  let value: Promise<T> | null = null;
  return {
    get(): Promise<T> {
      value ??= make().catch((error: unknown) => {
        value = null;
        throw error;
      });
      return value;
    },
    drop(): Promise<T> | null {
      const dropped = value;
      value = null;
      return dropped;
    },
  };
}
