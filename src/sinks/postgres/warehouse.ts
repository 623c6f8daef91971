import { SinkUnusable } from '../../core/sink.js';
import {
  identifier,
  migrate,
  openPostgres,
  type PgTransaction,
  type Postgres,
  type PostgresAddress,
  parseAddress,
} from '../../postgres/index.js';
import { checkSchema } from './check-schema.js';
import { migrations } from './migrations/index.js';
import { sinkError } from './sink-error.js';

export const DEFAULT_SCHEMA = 'searchflow';

/** Connections of a process: loads run side by side, each its slice. */
const CONNECTIONS = 4;
/** After this the caller is told that the warehouse is busy, and comes again. */
const PATIENCE_MS = 30_000;

/**
 * What holds for a transaction of ours. Locks that somebody else holds are waited for, but not for ever; whoever stopped in the
 * middle of a transaction loses it, so that its locks keep nobody out. Plans of small statements are not worth compiling.
 */
const settings: Readonly<Record<string, string>> = {
  lock_timeout: '15s',
  idle_in_transaction_session_timeout: '60s',
  statement_timeout: '10min',
  jit: 'off',
  standard_conforming_strings: 'on',
};

export interface WarehouseOptions {
  /** Told in a sentence what takes long. */
  readonly say?: (sentence: string) => void;
  /** How long work waits for a database that is away before it is told as busy, in ms. */
  readonly patienceMs?: number;
}

/** One schema of a PostgreSQL database. Errors leave as `SinkBusy` and `SinkUnusable`. */
export class Warehouse {
  /** Host, port, database and schema; never a user or password. */
  readonly shown: string;
  /** The schema, quoted. */
  readonly schema: string;
  readonly #address: PostgresAddress;
  readonly #options: WarehouseOptions;
  #postgres: Promise<Postgres> | null = null;
  #made: Promise<void> | null = null;

  /** Throws `SinkUnusable` for what is no address. */
  constructor(url: string, options: WarehouseOptions = {}) {
    this.#address = addressOf(url);
    this.shown = this.#address.shown;
    this.schema = identifier(this.#address.schema);
    this.#options = options;
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
    this.#made = null;
    await this.#make();
  }

  /** Runs `work` in one transaction, in our schema; run again whole where the connection breaks. */
  transaction<T>(work: (tx: PgTransaction) => Promise<T>): Promise<T> {
    return this.#saying(async (postgres) => {
      await this.#make();
      return postgres.transaction(async (tx) => {
        const all = Object.entries({ ...settings, search_path: this.schema });
        await tx.query(
          `SELECT ${all.map((_, index) => `set_config($${2 * index + 1}, $${2 * index + 2}, true)`).join(', ')}`,
          all.flat(),
        );
        return work(tx);
      });
    });
  }

  async close(): Promise<void> {
    const postgres = this.#postgres;
    this.#postgres = null;
    this.#made = null;
    await (await postgres)?.close();
  }

  /** Once a process, until it fails. */
  #make(): Promise<void> {
    this.#made ??= this.#saying(async (postgres) => {
      await migrate(postgres, migrations);
      await checkSchema(postgres, this.shown);
    }).catch((error: unknown) => {
      this.#made = null;
      throw error;
    });
    return this.#made;
  }

  async #saying<T>(work: (postgres: Postgres) => Promise<T>): Promise<T> {
    const { say, patienceMs = PATIENCE_MS } = this.#options;
    this.#postgres ??= openPostgres(this.#address, {
      applicationName: 'searchflow warehouse',
      max: CONNECTIONS,
      patienceMs,
      ...(say ? { say } : {}),
    });
    try {
      return await work(await this.#postgres);
    } catch (error) {
      throw sinkError(error, this.shown);
    }
  }
}

/**
 * The address of a warehouse without user and password: what jobs, histories and messages hold, and what tells two warehouses
 * apart. Throws `SinkUnusable` for what is no address of a PostgreSQL database.
 */
export function publicAddress(url: string): string {
  return addressOf(url).shown;
}

function addressOf(url: string): PostgresAddress {
  try {
    return parseAddress(url, DEFAULT_SCHEMA);
  } catch (error) {
    throw new SinkUnusable(`The address of the warehouse ${error instanceof Error ? error.message : String(error)}`);
  }
}
