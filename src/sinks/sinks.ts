import { resolve } from 'node:path';
import type { Secret } from '../core/secret.js';
import type { Sink } from '../core/sink.js';
import { isPostgresUrl } from '../postgres/index.js';
import { createDuckDbSink } from './duckdb/duckdb-sink.js';
import { createPostgresSink } from './postgres/postgres-sink.js';
import { publicAddress } from './postgres/warehouse.js';

/** The warehouses of a process, one sink an address however often it is asked for. */
export interface Sinks {
  /**
   * The warehouse at an address: the path of a DuckDB file, or `postgres://host:port/database?schema=name`. Throws `SinkUnusable` for
   * an address that is none.
   */
  open(address: string): Sink;
  /** Closes them all, when what waits is done. */
  close(): Promise<void>;
}

export interface SinksOptions {
  /** Told in a sentence what takes long. */
  readonly say?: (sentence: string) => void;
  /**
   * The whole URL, with user and password, of a warehouse whose public address this is; null where there is none, then the driver looks
   * at `PGUSER`, `PGPASSWORD` and `.pgpass`. Jobs and histories hold public addresses only.
   */
  readonly credentialsFor?: (publicAddress: string) => Secret | null;
}

/** What tells warehouses apart, and is fit to be stored and printed: an absolute path, or a URL without user and password. */
export function warehouseAddress(address: string, cwd = '.'): string {
  return isPostgresUrl(address) ? publicAddress(address) : resolve(cwd, address);
}

export function createSinks(options: SinksOptions = {}): Sinks {
  const { credentialsFor, ...others } = options;
  const sinks = new Map<string, Sink>();
  const make = (address: string, known: string) => {
    if (!isPostgresUrl(address)) return createDuckDbSink({ ...others, file: known });
    return createPostgresSink({ ...others, url: credentialsFor?.(known)?.reveal() ?? address });
  };
  return {
    open(address) {
      const known = warehouseAddress(address);
      const sink = sinks.get(known) ?? make(address, known);
      sinks.set(known, sink);
      return sink;
    },
    async close() {
      await Promise.all([...sinks.values()].map((sink) => sink.close()));
    },
  };
}
