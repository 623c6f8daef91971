import { SinkUnusable } from '../../../core/rows/sink.js';
import {
  identifier,
  migrate,
  openPostgres,
  type PgTransaction,
  type Postgres,
  type PostgresAddress,
  parseAddress,
} from '../../../postgres/index.js';
import { sinkError } from '../driver/sink-error.js';
import { migrations } from '../migrations/index.js';
import { checkSchema } from './check-schema.js';

export const DEFAULT_SCHEMA = 'searchflow';

/** Connections of a process: loads run side by side, each its slice. */
const CONNECTIONS = 4;
/** After this the caller is told that the warehouse is busy, and comes again. */
const PATIENCE_MS = 30_000;

/** How long whoever stopped in the middle of a transaction keeps it, and its locks. */
const STALLED_MS = 60_000;

export interface WarehouseOptions {
  /** Told in a sentence what takes long. */
  readonly say?: (sentence: string) => void;
  /** How long work waits for a database that is away before it is told as busy, in ms. */
  readonly patienceMs?: number;
  /**
   * A transaction whose process says nothing for so long (stopped, cut off, its machine gone) is ended by the server, so that
   * its locks keep nobody out, in ms; default a minute.
   */
  readonly stalledMs?: number;
}

/** One schema of a PostgreSQL database, with one pool of connections. Errors leave as `SinkBusy` and `SinkUnusable`. */
export class Warehouse {
  /** Host, port, database and schema; never a user or password. */
  readonly shown: string;
  /** The schema, quoted. */
  readonly schema: string;
  readonly #address: PostgresAddress;
  readonly #options: WarehouseOptions;
  /** What holds in a transaction of ours. */
  readonly #settings: Readonly<Record<string, string>>;
  #postgres: Promise<Postgres> | null = null;
  #current: Promise<void> | null = null;
  #made: Promise<void> | null = null;

  /** Throws `SinkUnusable` for what is no address. */
  constructor(url: string, options: WarehouseOptions = {}) {
    this.#address = addressOf(url);
    this.shown = this.#address.shown;
    this.schema = identifier(this.#address.schema);
    this.#options = options;
    const { patienceMs = PATIENCE_MS, stalledMs = STALLED_MS } = options;
    this.#settings = {
      search_path: this.schema,
      // Locks that somebody else holds are waited for, but not for ever.
      lock_timeout: `${Math.ceil(patienceMs / 2)}ms`,
      idle_in_transaction_session_timeout: `${stalledMs}ms`,
      // Small statements are not worth compiling.
      jit: 'off',
      standard_conforming_strings: 'on',
    };
  }

  /** Whether there is a warehouse at all. */
  exists(): Promise<boolean> {
    return this.#saying(async (postgres) => {
      const found = await postgres.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [
        `${this.schema}.searchflow_jobs`,
      ]);
      return found[0]?.there === true;
    });
  }

  /** Makes the tables where they are missing, and looks whether they are still as they were made. */
  async make(): Promise<void> {
    this.#current = null;
    this.#made = null;
    await this.#make();
  }

  /** Runs `work` in one transaction, in our schema; run again whole where the connection breaks. */
  async transaction<T>(work: (tx: PgTransaction) => Promise<T>): Promise<T> {
    await this.#make();
    return this.read(work);
  }

  /**
   * The same for work that only reads, of a warehouse that exists. It needs no rights but that, except where the warehouse was
   * made by an older version, which is brought up to this one first.
   */
  async read<T>(work: (tx: PgTransaction) => Promise<T>): Promise<T> {
    await this.#migrate();
    const { stalledMs = STALLED_MS } = this.#options;
    return this.#saying((postgres) =>
      postgres.transaction(
        async (tx) => {
          await tx.query('SELECT set_config(name, value, true) FROM unnest($1::text[], $2::text[]) AS s(name, value)', [
            Object.keys(this.#settings),
            Object.values(this.#settings),
          ]);
          return work(tx);
        },
        // A load of huge pages over a slow line takes minutes; who stopped in the middle of a COPY is not idle to the server.
        { statementMs: stalledMs * 10 },
      ),
    );
  }

  async close(): Promise<void> {
    const postgres = this.#postgres;
    this.#postgres = null;
    this.#current = null;
    this.#made = null;
    await (await postgres)?.close();
  }

  /** Once a process, until it fails. */
  #make(): Promise<void> {
    this.#made ??= this.#migrate()
      .then(() => this.#saying((postgres) => checkSchema(postgres, this.shown)))
      .catch((error: unknown) => {
        this.#made = null;
        throw error;
      });
    return this.#made;
  }

  #migrate(): Promise<void> {
    this.#current ??= this.#saying((postgres) => migrate(postgres, migrations)).catch((error: unknown) => {
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
      ...(say ? { say } : {}),
    }).catch((error: unknown) => {
      this.#postgres = null;
      throw error;
    });
    try {
      return await work(await this.#postgres);
    } catch (error) {
      throw sinkError(error, this.shown);
    }
  }
}

/** The address of a warehouse, taken apart. Throws `SinkUnusable` for what is no address of a PostgreSQL database. */
export function addressOf(url: string): PostgresAddress {
  try {
    return parseAddress(url, DEFAULT_SCHEMA);
  } catch (error) {
    throw new SinkUnusable(`The address of the warehouse ${error instanceof Error ? error.message : String(error)}`);
  }
}
