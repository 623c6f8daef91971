import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { ErrorCode } from '../../core/errors/registry.js';
import type { Published, Publisher, PublishRequest, PublishSubject } from '../../core/publish-request.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { isSameFile, realPath } from '../../files/same-file.js';
import type { Database, WarehousesOptions } from '../database.js';
import { stateRelations } from '../events/event-tables.js';
import { withDrafts } from '../export/create-exports.js';
import { jobTable, readJobRows, type SourceTable } from '../export/file-parts.js';
import { memoryFor, type SourceDuckDb } from '../export/job-rows.js';
import { whyNoTarget } from '../export/why-no-target.js';
import { monitors, results, runs } from '../monitors/monitor-tables.js';
import { unknownJob } from '../rows/row-store.js';
import { DISK_FULL, OUT_OF_MEMORY, warehouseError } from '../shared/duckdb-error.js';
import { loadExtension } from '../shared/load-extension.js';
import type { Relation } from '../shared/relation.js';
import { setMemory, withScratchDuckDb } from '../shared/scratch-duckdb.js';
import { withTemporaryFolder } from '../shared/temporary-folder.js';
import { publishToFile } from './duckdb-target.js';
import { folderFiles, type TargetFiles } from './folder-files.js';
import { publishId } from './manifest.js';
import { type Place, placeOf, type S3Place, s3Place } from './place-of.js';
import {
  beginTarget,
  postgresTable,
  postgresTarget,
  postgresTransaction,
  withPostgresTarget,
} from './postgres-target.js';
import { openFiles, publishFiles } from './publish-files.js';
import { publishToSql, type TableRows, type TargetTable } from './publish-sql.js';
import { s3Files, setS3 } from './s3-files.js';
import { checkUnique, type Drafted, type SourceReader, stageTables } from './stage-tables.js';

/** Longest statement in PostgreSQL, in ms: a COPY or an INSERT of all rows. */
const STATEMENT_MS = 3_600_000;

/** The source of a publish, and the options of its warehouse. */
interface PublishSource extends WarehousesOptions {
  readonly database: Database;
  readonly say: (sentence: string) => void;
}

/** A target of drafts. */
interface Target {
  /** Folder for the drafts. */
  readonly drafts: string;
  /** A DuckDB that reads the drafts, and may write the target. */
  readonly connection: DuckDBConnection;
  /** The target, for messages. */
  readonly shown: string;
  /** Whether the target keeps integers of more than 64 bits. */
  readonly keepsLong: boolean;
  refuse?(input: string | null): void;
  /** Changes the target. Returns the rows of its tables then, or null if nothing had to be written. */
  commit(drafted: Drafted): Promise<readonly TableRows[] | null>;
}

export function createPublisher(database: Database, options: WarehousesOptions): Publisher {
  const source: PublishSource = { say: () => undefined, ...options, database };
  return {
    async publish(request) {
      const place = await allowedPlace(source, request.to);
      if (request.partition !== null && place.kind !== 'folder' && place.kind !== 's3')
        throw new WarehouseUnusable('option-unusable', '--partition is only for targets with files: leave it out');
      if (place.kind === 'folder') return toFolder(source, request, place.path);
      if (place.kind === 's3') return toS3(source, request, place.address);
      if (place.kind === 'postgres') return toPostgres(source, request, place.address);
      return toFile(source, request, place);
    },
    async check(to) {
      const place = await allowedPlace(source, to);
      if (place.kind === 'folder') await folderFiles(place.path).manifest();
      if (place.kind === 's3')
        await withTemporaryFolder((drafts) =>
          withScratchDuckDb(drafts, async (connection) =>
            (await openS3(source, connection, s3Place(place.address))).manifest(),
          ),
        );
      if (place.kind === 'postgres')
        await withPostgresTarget(loginOf(source, place.address), source.say, async () => {});
      if (place.kind === 'ducklake')
        await withTemporaryFolder((drafts) => withScratchDuckDb(drafts, (connection) => loadLake(source, connection)));
    },
  };
}

/** The place of a target. Links in its path are followed once, before the check. */
async function allowedPlace({ check }: PublishSource, to: string): Promise<Place> {
  const place = placeOf(to);
  if (!('path' in place)) return place;
  const { path: named, kind } = place;
  const path = kind === 'folder' ? join(realPath(dirname(named)), basename(named)) : realPath(named);
  await check?.({ publish: kind === 'ducklake' ? `ducklake:${path}` : path });
  return { kind, path };
}

function toFolder(source: PublishSource, request: PublishRequest, shown: string): Promise<Published> {
  const refuse = (input: string | null) => {
    const why = whyNoTarget('parquet', shown, { into: source.database.file, input });
    if (why !== null) throw new WarehouseUnusable('publish-target-invalid', why);
  };
  refuse(null);
  return locked(source, shown, (drafts) =>
    withTargetDuckDb(drafts, (connection) =>
      toFiles(source, request, folderFiles(shown), { drafts, connection, refuse }),
    ),
  );
}

/** Drafts are in the system's temporary folder. */
function toS3(source: PublishSource, request: PublishRequest, address: string): Promise<Published> {
  const place = s3Place(address);
  return withTemporaryFolder((drafts) =>
    withTargetDuckDb(drafts, async (connection) =>
      // The target is read first, so that a missing bucket is reported before anything else is done.
      toFiles(source, request, await openS3(source, connection, place), { drafts, connection }),
    ),
  ).catch((error: unknown) => {
    throw publishError(error, place.url);
  });
}

async function toFiles(
  source: PublishSource,
  request: PublishRequest,
  files: TargetFiles,
  parts: Pick<Target, 'drafts' | 'connection' | 'refuse'>,
): Promise<Published> {
  const before = await openFiles(files);
  const commit = (drafted: Drafted) => publishFiles(files, before, drafted);
  return draft(source, request, { ...parts, shown: files.shown, keepsLong: false, commit });
}

/** A DuckDB of the target, whose extensions are loaded before anything is read. */
const withTargetDuckDb = <T>(drafts: string, work: (connection: DuckDBConnection) => Promise<T>): Promise<T> =>
  withScratchDuckDb(join(drafts, 'target-spill'), work);

async function openS3(
  { extensions = null }: PublishSource,
  connection: DuckDBConnection,
  place: S3Place,
): Promise<TargetFiles> {
  await loadExtension(connection, 'httpfs', extensions, 'Publishing to s3://');
  await setS3(connection, place);
  return s3Files(connection, place);
}

const loadLake = ({ extensions = null }: PublishSource, connection: DuckDBConnection): Promise<void> =>
  loadExtension(connection, 'ducklake', extensions, 'Publishing to a DuckLake');

/** A DuckDB file, or the catalog of a DuckLake. */
function toFile(
  source: PublishSource,
  request: PublishRequest,
  { path: file, kind }: Extract<Place, { path: string }>,
): Promise<Published> {
  const isLake = kind === 'ducklake';
  const refuse = (input: string | null) => {
    const into = source.database.file;
    for (const other of [into, input])
      if (other !== null && other !== '-' && isSameFile(other, file))
        throw new WarehouseUnusable(
          'publish-target-invalid',
          `${file} is the ${other === into ? 'warehouse' : 'input'}: name another file`,
        );
  };
  refuse(null);
  return locked(source, file, (drafts, held) =>
    withTargetDuckDb(drafts, async (connection) => {
      if (isLake) await loadLake(source, connection);
      const commit = (drafted: Drafted) => publishToFile({ file, held, isLake }, drafted);
      return draft(source, request, { drafts, connection, shown: file, keepsLong: !isLake, refuse, commit });
    }),
  ).catch((error: unknown) => {
    throw warehouseError(error, file);
  });
}

function toPostgres(source: PublishSource, request: PublishRequest, url: string): Promise<Published> {
  const { shown } = postgresTarget(url);
  return withTemporaryFolder((drafts) =>
    withPostgresTarget(loginOf(source, url), source.say, (postgres) =>
      withTargetDuckDb(drafts, (connection) => {
        const commit = async (drafted: Drafted) => {
          const tables: TargetTable[] = [];
          for (const table of drafted.staged.tables) tables.push(await postgresTable(connection, table));
          const renamed = tables.flatMap(({ staged: { exact }, columns }) =>
            columns.flatMap(({ name }, index) =>
              name === exact[index]?.name ? [] : [`${exact[index]?.name} as ${name}`],
            ),
          );
          if (renamed.length > 0)
            source.say(`PostgreSQL does not accept some names of columns: ${renamed.join(', ')}.`);
          // The transaction is repeated after a lost connection, also if the answer to its COMMIT was lost.
          return postgres.transaction(
            async (tx) => {
              await beginTarget(tx, postgres);
              const target = postgresTransaction(postgres, tx, connection, drafts);
              return publishToSql(target, tables, drafted);
            },
            { statementMs: STATEMENT_MS },
          );
        };
        return draft(source, request, { drafts, connection, shown, keepsLong: true, commit });
      }),
    ),
  );
}

/** The address with the user and password that are known for it. */
function loginOf({ credentialsFor }: PublishSource, url: string): string {
  const { carried, user, password } = postgresTarget(url);
  const known = user === null && password === null ? credentialsFor?.(carried)?.reveal() : null;
  return known ?? url;
}

/** Runs `work` while no other publish writes the target. */
const locked = <T>({ say }: PublishSource, target: string, work: (drafts: string, held: string) => Promise<T>) =>
  withDrafts('publish', target, say, work).catch((error: unknown): never => {
    throw publishError(error, target);
  });

/** Runs `work` on one state of the tables of a subject; may repeat `work`. */
function readSource<T>(
  { shown, exists, source, patiently }: Database,
  subject: PublishSubject,
  scratch: string,
  work: (reader: SourceReader) => Promise<T>,
): Promise<T> {
  return patiently(async () => {
    const isJob = typeof subject === 'object';
    if (!(await exists())) throw isJob ? unknownJob(subject.job, shown) : nothingToPublish(subject, shown);
    return source(scratch, 'snapshot', async (reader) => {
      const { connection, need } = reader;
      if (!isJob) {
        const tables = publishedTables[subject].map((table) => wholeTable(reader, table));
        return work({ connection, need, source: subject, run: null, input: null, tables });
      }
      const { view, run, ...rows } = await readJobRows(reader, subject.job, shown);
      const tables = [jobTable(view, rows)];
      return work({ connection, need, source: `job ${subject.job}`, run, input: rows.input, tables });
    });
  });
}

const wholeTable = (source: SourceDuckDb, table: Relation): SourceTable => ({
  name: table.name,
  memory: memoryFor(table.columns.length),
  hasLong: false,
  async *parts() {
    yield await source.table(table);
  },
});

/** The tables of current state: of all websets, or of all monitors with their runs and results. */
const publishedTables: Readonly<Record<'events' | 'monitors', readonly Relation[]>> = {
  events: stateRelations,
  monitors: [monitors, runs, results],
};

/** The error of a warehouse that does not exist. */
function nothingToPublish(subject: 'events' | 'monitors', shown: string): WarehouseUnusable {
  return new WarehouseUnusable(
    'job-not-loaded',
    `${shown} does not exist, so it has no ${subject}: name their warehouse with --from`,
  );
}

/** Copies the tables of the source into drafts, and then commits them. */
async function draft(source: PublishSource, request: PublishRequest, target: Target): Promise<Published> {
  const { drafts, connection, shown } = target;
  const staged = await readSource(source.database, request.subject, drafts, (reader) => {
    target.refuse?.(reader.input);
    // The warehouse would report an error of the drafts, such as a full disk, as its own.
    return stageTables(reader, join(drafts, 'staged'), target.keepsLong).catch((error: unknown) => {
      throw publishError(error, shown);
    });
  });
  const now = Date.now();
  const id = publishId(now, randomBytes(4).toString('hex'));
  const record = { id, at: new Date(now).toISOString(), run: staged.run ?? id, mode: request.mode };
  await setMemory(connection, Math.max(...staged.tables.map(({ columns }) => memoryFor(columns.length))));
  if (request.mode === 'merge') for (const table of staged.tables) await checkUnique(connection, table, request.key);
  const tables = await target.commit({ staged, request, record, connection, drafts });
  const total = (name: string) => tables?.find((table) => table.name === name)?.rows ?? 0;
  return {
    ...record,
    target: shown,
    changed: tables !== null,
    tables: tables === null ? [] : staged.tables.map(({ name, rows }) => ({ name, rows, total: total(name) })),
  };
}

const cases: readonly (readonly [when: RegExp, say: (target: string) => string, code: ErrorCode])[] = [
  [
    DISK_FULL,
    (target) => `The disk of ${target} is full: free some space and publish again. The target is unchanged`,
    'warehouse-full',
  ],
  [
    /Permission denied|Read-only file system|EACCES|EROFS|EPERM/i,
    (target) => `${target} cannot be written by this user: change its permissions, or name another target`,
    'publish-target-unreachable',
  ],
  [
    OUT_OF_MEMORY,
    (target) =>
      `Publishing to ${target} needs more memory than it has: check for very large rows, or use --mode replace`,
    'warehouse-out-of-memory',
  ],
];

/** Returns an error of a publish as `WarehouseUnusable` with the fix. Returns any other error unchanged. */
function publishError(error: unknown, target: string): unknown {
  if (!(error instanceof Error) || error instanceof WarehouseBusy || error instanceof WarehouseUnusable) return error;
  const found = cases.find(([when]) => when.test(error.message));
  return found ? new WarehouseUnusable(found[2], found[1](target), { cause: error }) : error;
}
