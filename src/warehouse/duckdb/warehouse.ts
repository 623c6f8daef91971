import { chmodSync, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { inFolder } from '../../files/open-path.js';
import { realPath } from '../../files/same-file.js';
import { whyNoDatabase } from '../addresses.js';
import type { FileCheck } from '../database.js';
import { warehouseError } from '../shared/duckdb-error.js';
import { identifier, literal } from '../shared/duckdb-quote.js';
import { loadDuckDb } from '../shared/load-duckdb.js';
import { logsOf, removeForeign, watchOpening } from './opened-files.js';
import { appliedSteps, migrate } from './schema.js';

/** Time in ms without use until a warehouse is closed. An open one blocks other processes, even readers. */
const IDLE_MS = 250;

/** Size at which a checkpoint writes the log into the file. Until then the changes in the log are also in memory. */
const LARGE_LOG_MB = 24;

/**
 * Settings of an instance. A slice is too small for two threads: loads took 1.6 times the CPU. Rare checkpoints halve the cost of loading.
 * They do not merge row groups that are not full, which took a fifth of the CPU of loads of events; closing the file does, see `MERGES`. New
 * files have the format of DuckDB 1.2, whose zstd keeps JSON in a sixth of the space (see `compressions`).
 */
const LIMITS = {
  threads: '1',
  checkpoint_threshold: `${LARGE_LOG_MB}MB`,
  max_vacuum_tasks: '0',
  storage_compatibility_version: 'v1.2.0',
} as const;

/**
 * Number of rows in one row group; a full one is written once, straight into the file (docs/decisions/0013). A large slice of contents fills
 * a group (`LARGE_CONTENTS`).
 */
const ROW_GROUP_ROWS = 4096;

/** Memory of a statement in MB, unless it needs more. */
const MEMORY_MB = 512;

/** Number of row groups of a table that are merged when the file is closed. So the space of deleted rows is released in small steps. */
const MERGES = 2;

/** Queues of work. `incoming`: loads; `state`: updates of the current state with loaded events; `reads`: work that changes no table. */
export type WorkQueue = 'incoming' | 'state' | 'reads';
const WORK_QUEUES: readonly WorkQueue[] = ['incoming', 'state', 'reads'];

/** What some work needs. `reads`: no tables are made or migrated for this work. `memory`: in MB. */
export interface Needs {
  readonly reads?: boolean;
  readonly memory?: number;
}

/** Raises the memory of later statements to at least so many MB. */
type MemoryGrant = (megabytes: number) => Promise<void>;

type Work<T> = (connection: DuckDBConnection, grant: MemoryGrant) => Promise<T>;

/** The warehouses of this process by the real paths of their files. */
const warehouses = new Map<string, Warehouse>();
const nothing = () => undefined;

/**
 * One DuckDB file, for all work of this process, open while it is used. Work of one queue runs one at a time. Throws `WarehouseBusy` and
 * `WarehouseUnusable`.
 */
export class Warehouse {
  /**
   * The warehouse of a file: one object for all callers in this process, including callers that use links. `file`: absolute path. Each caller
   * gives its `check`, because the name may lead to another file than for the caller before.
   */
  static at(file: string, check?: FileCheck): Warehouse {
    const path = realPath(file);
    const warehouse = warehouses.get(path) ?? new Warehouse(path);
    warehouses.set(path, warehouse);
    if (check !== undefined) warehouse.check = check;
    return warehouse;
  }

  readonly file: string;
  /** See `WarehousesOptions`. */
  check: FileCheck = async () => undefined;
  #instance: Promise<DuckDBInstance> | null = null;
  /** Settled when the tables of the instance were made, migrated and checked; null: they were not. */
  #made: Promise<void> | null = null;
  readonly #tails = new Map<WorkQueue, Promise<unknown>>();
  #users = 0;
  #checkpointing = false;
  /** Inode of the log whose rights were checked; 0: none. */
  #log = 0;
  #idle: NodeJS.Timeout | null = null;

  private constructor(file: string) {
    this.file = file;
  }

  /** Whether the file has the tables of a warehouse. These are brought to this version. */
  async exists(): Promise<boolean> {
    if (!existsSync(this.file)) return false;
    const read = async (connection: DuckDBConnection) => {
      const isThere = (await appliedSteps(connection, this.file)) !== null;
      if (isThere) await this.#makeOnce(connection);
      return isThere;
    };
    return this.#made !== null || this.use(read, ['incoming'], { reads: true });
  }

  /** Runs `work` when its turn comes in these queues (default: all), with a connection of its own. */
  use<T>(work: Work<T>, queues: readonly WorkQueue[] = WORK_QUEUES, needs: Needs = {}): Promise<T> {
    return this.#inTurn(queues, async () => {
      if (this.#idle !== null) clearTimeout(this.#idle);
      this.#users++;
      try {
        this.#instance ??= this.#open().catch((error: unknown) => {
          this.#instance = null;
          throw error;
        });
        const connection = await (await this.#instance).connect();
        try {
          // Only of this connection: the instance may be shared with other code of the process.
          await connection.run("SET TimeZone = 'UTC'");
          if (!needs.reads) await this.#makeOnce(connection);
          return await granted(connection, needs, work);
        } finally {
          await this.#keepLog(connection);
          connection.closeSync();
          this.#checkpointLargeLog();
        }
      } catch (error) {
        // After a fatal error DuckDB refuses all further use of the instance, so the next use opens a new instance.
        if (/FATAL|has been invalidated/.test(String(error))) await this.#drop();
        throw warehouseError(error, this.file);
      } finally {
        this.#users--;
        if (this.#users === 0) this.#idle = setTimeout(() => void this.close(), IDLE_MS);
      }
    });
  }

  /** Closes the file after the waiting work. A later use opens the file again. */
  close(): Promise<void> {
    if (this.#idle !== null) clearTimeout(this.#idle);
    return this.#inTurn(WORK_QUEUES, () => this.#closeNow());
  }

  /** Closes the file after the waiting work, for readers with an instance of their own. All other work waits until the returned function is called. */
  keepClosed(): Promise<() => void> {
    return new Promise((ready, failed) => {
      this.#inTurn(WORK_QUEUES, async () => {
        await this.#closeNow();
        await new Promise<void>((release) => ready(release));
      }).catch(failed);
    });
  }

  /** Replaces the file by a copy without the bytes of deleted rows, changed with `finish`, in one step. The file stays locked, and other work waits. */
  rewrite(finish: string): Promise<void> {
    return this.#inTurn(WORK_QUEUES, async () => {
      await this.#closeNow();
      try {
        const { rewriteFile } = await import('./rewrite-file.js');
        await rewriteFile(this.file, {
          rowGroupRows: ROW_GROUP_ROWS,
          version: LIMITS.storage_compatibility_version,
          finish,
        });
      } catch (error) {
        throw warehouseError(error, this.file);
      }
    });
  }

  async #closeNow(): Promise<void> {
    if (this.#idle !== null) clearTimeout(this.#idle);
    if (this.#instance === null) return;
    // Without this checkpoint, closing would run a checkpoint on the event loop.
    await checkpoint(await this.#instance, MERGES);
    await this.#drop();
  }

  /** Starts a checkpoint while all queues wait: DuckDB runs none while another transaction writes. */
  #checkpointLargeLog(): void {
    const { size = 0 } = statSync(`${this.file}.wal`, { throwIfNoEntry: false }) ?? {};
    if (this.#checkpointing || size < LARGE_LOG_MB * 1_048_576) return;
    this.#checkpointing = true;
    this.#inTurn(WORK_QUEUES, async () => {
      this.#checkpointing = false;
      // If the warehouse was closed meanwhile, no checkpoint is needed.
      if (this.#instance !== null) await checkpoint(await this.#instance, 0);
    }).catch(nothing);
  }

  /** Gives the log, which each write makes again, no more rights than the file has. A log in another folder is written into the file, and removed. */
  async #keepLog(connection: DuckDBConnection): Promise<void> {
    const { ino = 0 } = statSync(`${this.file}.wal`, { throwIfNoEntry: false }) ?? {};
    if (ino !== 0 && ino === this.#log) return;
    const { own, elsewhere } = logsOf(this.file);
    const [{ mode = 0 } = {}, { mode: log = 0 } = {}] = [this.file, own ?? ''].map(
      (path) => statSync(path, { throwIfNoEntry: false }) ?? {},
    );
    if (own !== null && (log & ~mode & 0o777) !== 0) chmodSync(own, log & mode & 0o777);
    this.#log = own === null ? 0 : ino;
    if (elsewhere.length === 0) return;
    const written = connection.run('CHECKPOINT').then(() => elsewhere.forEach(removeForeign));
    // While other work writes, the log is still needed; the next use tries again.
    await written.catch(nothing);
  }

  #inTurn<T>(queues: readonly WorkQueue[], work: () => Promise<T>): Promise<T> {
    const result = Promise.all(queues.map((queue) => this.#tails.get(queue))).then(work);
    const over = result.catch(nothing);
    for (const queue of queues) this.#tails.set(queue, over);
    return result;
  }

  async #drop(): Promise<void> {
    const instance = this.#instance;
    this.#instance = null;
    this.#made = null;
    await instance?.then((one) => one.closeSync(), nothing);
  }

  async #open(): Promise<DuckDBInstance> {
    if (this.file.includes('?')) {
      throw new WarehouseUnusable(
        'warehouse-path-unusable',
        `${this.file} has a question mark in its path, which DuckDB does not support: name another file`,
      );
    }
    await this.check({ into: this.file });
    const why = whyNoDatabase(this.file);
    if (why !== null) throw new WarehouseUnusable('warehouse-path-unusable', `${this.file} ${why}`);
    const { DuckDBInstance } = await loadDuckDb();
    await inFolder(dirname(this.file), async () => undefined, 0o777);
    const isNew = !existsSync(this.file);
    const opening = watchOpening(this.file);
    // The instance comes from the process-wide cache. A second instance on the file in this process, for example in the user's own code,
    // would take the lock from the first, and both would write.
    const instance = await DuckDBInstance.fromCache(this.file, {
      ...LIMITS,
      memory_limit: `${MEMORY_MB}MB`,
      temp_directory: `${this.file}.tmp`,
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
    });
    try {
      const connection = await instance.connect();
      try {
        opening.check();
        await attachWithRowGroups(connection, this.file);
        opening.check(isNew);
      } finally {
        connection.closeSync();
      }
      return instance;
    } catch (error) {
      instance.closeSync();
      opening.remove();
      throw error;
    }
  }

  #makeOnce(connection: DuckDBConnection): Promise<void> {
    this.#made ??= migrate(connection, this.file)
      .then(() => this.#keepLog(connection))
      .catch((error: unknown) => {
        this.#made = null;
        throw error;
      });
    return this.#made;
  }
}

/** Runs `work` with more memory than usual, if it needs more. Such work, an export or a careful load, is the only one. */
async function granted<T>(connection: DuckDBConnection, { memory = 0 }: Needs, work: Work<T>): Promise<T> {
  const set = (megabytes: number) => connection.run(`SET GLOBAL memory_limit = '${megabytes}MB'`);
  let most = MEMORY_MB;
  const grant = async (megabytes: number) => {
    if (megabytes <= most) return;
    most = megabytes;
    await set(most);
  };
  try {
    await grant(memory);
    return await work(connection, grant);
  } finally {
    if (most > MEMORY_MB) await set(MEMORY_MB).catch(nothing);
  }
}

/** Writes the log into the file and merges up to `merges` row groups of a table. If the checkpoint fails, the data stays in the log. */
async function checkpoint(instance: DuckDBInstance, merges: number): Promise<void> {
  const connection = await instance.connect();
  try {
    await connection.run(`SET GLOBAL max_vacuum_tasks = ${merges}`);
    await connection.run('CHECKPOINT').catch(nothing);
  } finally {
    connection.closeSync();
  }
}

/** Attaches the file again, under its name, with the size of row groups, which only ATTACH can set. Call this function once for each instance. */
async function attachWithRowGroups(connection: DuckDBConnection, file: string): Promise<void> {
  const reader = await connection.runAndReadAll(
    `SELECT database_name, options['row_group_size'] IS NULL FROM duckdb_databases() WHERE database_name = current_database()`,
  );
  const [name, asItComes] = reader.getRows()[0] ?? [];
  if (!asItComes) return;
  const database = identifier(String(name));
  await connection.run(`ATTACH ':memory:' AS "searchflow aside"`);
  await connection.run('USE "searchflow aside"');
  await connection.run(`DETACH ${database}`);
  await connection.run(`ATTACH ${literal(file)} AS ${database} (ROW_GROUP_SIZE ${ROW_GROUP_ROWS})`);
  await connection.run(`USE ${database}`);
  await connection.run('DETACH "searchflow aside"');
}
