import type { ErrorCode } from '../../core/errors/registry.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import {
  identifier,
  migrate,
  missingRights,
  OtherSchema,
  openPostgres,
  type PgTransaction,
  type Postgres,
  type PostgresAddress,
  PostgresAway,
  PostgresRefused,
  schemaState,
  vacuum,
} from '../../postgres/index.js';
import { postgresAddressOf } from '../addresses.js';
import type { WarehousesOptions } from '../database.js';
import { rowTables } from '../rows/row-tables.js';
import { checkTables } from '../schema.js';
import { postgresDialect } from './dialect.js';
import { postgresSchema } from './schema.js';
import { transactionOf } from './transaction.js';

/** Maximum number of connections of a process. Loads of different slices run in parallel. */
const CONNECTIONS = 4;
/** Time in ms after which the caller gets `WarehouseBusy`, and retries. */
const PATIENCE_MS = 30_000;

/** Time in ms for which a suspended process keeps its transaction and locks. */
const STALLED_MS = 60_000;

type Options = Pick<WarehousesOptions, 'say' | 'patienceMs' | 'stalledMs'>;

/**
 * One schema of a PostgreSQL database, with one pool of connections. The methods throw errors as `WarehouseBusy` and `WarehouseUnusable`.
 */
export class Warehouse {
  /** Host, port, database and schema; never a user or password. */
  readonly shown: string;
  /** The schema, quoted. */
  readonly schema: string;
  readonly #address: PostgresAddress;
  readonly #options: Options;
  /** Settings of every transaction here. */
  readonly #settings: Readonly<Record<string, string>>;
  #postgres: Promise<Postgres> | null = null;
  #current: Promise<void> | null = null;
  #made: Promise<void> | null = null;

  /** Throws `WarehouseUnusable` for a text that is not an address. */
  constructor(url: string, options: Options = {}) {
    this.#address = postgresAddressOf(url);
    this.shown = this.#address.shown;
    this.schema = identifier(this.#address.schema);
    this.#options = options;
    const { patienceMs = PATIENCE_MS, stalledMs = STALLED_MS } = options;
    this.#settings = {
      search_path: this.schema,
      // Transactions wait for the locks of other processes, at most for this time.
      lock_timeout: `${Math.ceil(patienceMs / 2)}ms`,
      idle_in_transaction_session_timeout: `${stalledMs}ms`,
      // JIT is off, because compiling a small statement takes longer than running it.
      jit: 'off',
      standard_conforming_strings: 'on',
    };
  }

  /** Whether the warehouse exists. Throws `WarehouseUnusable` if the schema is a store. */
  async exists(): Promise<boolean> {
    const { schema } = this.#address;
    return (await this.#saying((postgres) => schemaState(postgres, schema, postgresSchema))) !== null;
  }

  /** Creates missing tables, and checks that existing tables are unchanged. */
  async make(): Promise<void> {
    this.#current = null;
    this.#made = null;
    await this.#make();
  }

  /**
   * Runs `work` in one transaction, with the warehouse's schema as search path. If the connection breaks, the whole transaction
   * is repeated.
   */
  async transaction<T>(work: (tx: PgTransaction) => Promise<T>): Promise<T> {
    await this.#make();
    return this.read(work);
  }

  /**
   * Like `transaction`, for work that only reads an existing warehouse. The right to read is enough. Only a warehouse of an earlier release
   * needs more rights, because such a warehouse is migrated first. `snapshot`: all statements of `work` see one state of the database.
   */
  async read<T>(work: (tx: PgTransaction) => Promise<T>, { snapshot = false } = {}): Promise<T> {
    await this.#migrate();
    const { stalledMs = STALLED_MS } = this.#options;
    return this.#saying((postgres) =>
      postgres.transaction(
        async (tx) => {
          if (snapshot) await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
          await tx.query('SELECT set_config(name, value, true) FROM unnest($1::text[], $2::text[]) AS s(name, value)', [
            Object.keys(this.#settings),
            Object.values(this.#settings),
          ]);
          return work(tx);
        },
        // A load of huge pages over a slow line takes minutes. This limit also ends a process that is suspended during a COPY, because the
        // server does not count a COPY as idle.
        { statementMs: stalledMs * 10 },
      ),
    );
  }

  /** Vacuums tables; returns why that failed, as a sentence without a dot, or null. */
  vacuum(tables: readonly string[]): Promise<string | null> {
    return this.#saying((postgres) => vacuum(postgres, tables));
  }

  async close(): Promise<void> {
    const postgres = this.#postgres;
    this.#postgres = null;
    this.#current = null;
    this.#made = null;
    await (await postgres)?.close();
  }

  /** Migrates and checks the warehouse once for each process, and again after a failure. */
  #make(): Promise<void> {
    this.#made ??= this.#migrate()
      .then(() => this.read((tx) => checkTables(transactionOf(tx, dialect), this.shown, OTHER_SCHEMA)))
      .then(() => this.#saying((postgres) => checkRights(postgres, this.shown)))
      .catch((error: unknown) => {
        this.#made = null;
        throw error;
      });
    return this.#made;
  }

  #migrate(): Promise<void> {
    this.#current ??= this.#saying((postgres) => migrate(postgres, postgresSchema)).catch((error: unknown) => {
      this.#current = null;
      throw error;
    });
    return this.#current;
  }

  async #saying<T>(work: (postgres: Postgres) => Promise<T>): Promise<T> {
    const { say, patienceMs = PATIENCE_MS } = this.#options;
    this.#postgres ??= openPostgres(this.#address, {
      applicationName: 'searchflow warehouse',
      max: CONNECTIONS,
      patienceMs,
      say,
    }).catch((error: unknown) => {
      this.#postgres = null;
      throw error;
    });
    try {
      return await work(await this.#postgres);
    } catch (error) {
      throw warehouseError(error, this.shown);
    }
  }
}

const dialect = postgresDialect('');
const OTHER_SCHEMA = 'another schema (?schema=name)';
/** The tables whose rights are checked. A user that only loads rows needs no rights on the tables of events and monitors. */
export const rowTableNames = rowTables(true).map(({ name }) => name);

/**
 * Checks rights and encoding before anything is bought for them. Throws `WarehouseUnusable` with the list of all mistakes.
 */
async function checkRights(postgres: Postgres, shown: string): Promise<void> {
  const { schema } = postgres.address;
  const missing = await missingRights(postgres, schema, rowTableNames);
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

const changed = (where: string) => `The tables in ${where} differ from those that searchflow created`;
const undo = `undo the change, or load into ${OTHER_SCHEMA}`;

/** Texts of errors, each with the fix, by SQLSTATE or by class of SQLSTATE. */
const cases: readonly (readonly [state: RegExp, say: (where: string) => string, code: ErrorCode])[] = [
  [
    /^(42P01|3F000)$/,
    (where) =>
      `${changed(where)}: a table is missing. If the warehouse was deleted, run the same command again: it is loaded from the journal, nothing is bought twice`,
    'warehouse-rows-lost',
  ],
  [
    /^(42P07|42710|42723)$/,
    (where) =>
      `${where} has tables or views of the same names that are not this warehouse's: load into ${OTHER_SCHEMA}`,
    'warehouse-name-taken',
  ],
  [/^(42703|42804|42883|428C9|42809)$/, (where) => `${changed(where)}: ${undo}`, 'warehouse-changed'],
  [/^23/, (where) => `${changed(where)}, they refuse its rows: ${undo}`, 'warehouse-changed'],
  [
    /^2BP01$/,
    (where) => `A view of a job in ${where} cannot be changed while other views depend on it: drop those first`,
    'warehouse-changed',
  ],
  [
    /^53[12]00$/,
    (where) =>
      `${where} is out of space (disk or memory of the server): free some, then run the job again; no paid answer is lost`,
    'warehouse-full',
  ],
  [
    /^22P05$/,
    (where) => `${where} cannot hold every character: its encoding is not UTF8. Load into a database with UTF8`,
    'postgres-unsuitable',
  ],
];

/**
 * Returns PostgreSQL's error as `WarehouseBusy` (wait) or `WarehouseUnusable` (with the fix). Returns any other error
 * unchanged.
 */
export function warehouseError(error: unknown, where: string): unknown {
  if (!(error instanceof Error) || error instanceof WarehouseBusy || error instanceof WarehouseUnusable) return error;
  if (error instanceof PostgresAway) return busy(error, where);
  if (error instanceof OtherSchema) {
    const schema = `into ${OTHER_SCHEMA}`;
    const why =
      error.is === null
        ? `${where} was not created by this version of searchflow. Load ${schema}`
        : `${where} is a ${error.is} of searchflow, not a warehouse. Load ${schema}`;
    return new WarehouseUnusable('schema-of-another-version', why, { cause: error });
  }
  if (/SSL|certificate|TLS/i.test(error.message)) {
    return new WarehouseUnusable(
      'postgres-refused',
      `${where} has no secure connection (${error.message}): see sslmode in its address`,
      {
        cause: error,
      },
    );
  }
  if (error instanceof PostgresRefused) return refused(error, 'SEARCHFLOW_WAREHOUSE_URL, ');
  const code = codeOf(error);
  const found = cases.find(([when]) => when.test(code));
  if (!found) return error;
  return new WarehouseUnusable(found[2], `${found[1](where)} (PostgreSQL: ${error.message})`, { cause: error });
}

/** A refusal of the server with the fix. `setting`: the variable that may have the address, with a comma. */
export function refused(error: PostgresRefused, setting: string): WarehouseUnusable {
  const way = /^(28|3D)/.test(error.code ?? '')
    ? `check the address, and user and password (in the address, ${setting}PGUSER and PGPASSWORD, or .pgpass)`
    : 'ask its owner for the missing rights';
  return new WarehouseUnusable(error.errorCode, `${error.message}: ${way}`, { cause: error });
}

function busy(error: PostgresAway, where: string): WarehouseBusy {
  const code = codeOf(error.cause);
  const why = code === '55P03' ? 'is locked by another transaction' : code === '57014' ? 'takes too long' : null;
  return new WarehouseBusy(
    code === '55P03' ? 'warehouse-in-use' : 'postgres-unreachable',
    why === null ? error.message : `${where} ${why}: retry when that has ended`,
    null,
  );
}

export function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : '';
}
