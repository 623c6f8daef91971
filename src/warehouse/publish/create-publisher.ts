import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { ErrorCode } from '../../core/errors/registry.js';
import type { Publisher, PublishRequest, PublishSubject } from '../../core/publish-request.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { isSameFile, realPath } from '../../files/same-file.js';
import type { Database, WarehousesOptions } from '../database.js';
import { stateRelations } from '../events/event-tables.js';
import { withDrafts, withSource } from '../export/create-exports.js';
import { jobTable, readJobRows } from '../export/file-parts.js';
import { memoryFor, type SourceDuckDb } from '../export/job-rows.js';
import { whyNoTarget } from '../export/why-no-target.js';
import { monitors, results, runs } from '../monitors/monitor-tables.js';
import { unknownJob } from '../rows/read-job.js';
import { DISK_FULL, OUT_OF_MEMORY, warehouseError } from '../shared/duckdb-error.js';
import { loadExtension } from '../shared/load-duckdb.js';
import type { Relation } from '../shared/relation.js';
import { setMemory, withScratchDuckDb, withTemporaryFolder } from '../shared/scratch-duckdb.js';
import { publishToFile } from './duckdb-target.js';
import { folderFiles, readManifest } from './folder-files.js';
import { parseManifest, publishId } from './manifest.js';
import { type Place, placeOf, s3Place } from './place-of.js';
import { postgresTarget, publishToPostgres, withPostgresTarget } from './postgres-target.js';
import { publishFiles } from './publish-files.js';
import type { TableRows } from './publish-sql.js';
import { s3Files } from './s3-files.js';
import { checkUnique, type Drafted, stageTables } from './stage-tables.js';

/** A folder for drafts, and a DuckDB that reads them and may write the target. `held`: see `withDraftFolder`. */
interface Workplace {
  readonly drafts: string;
  readonly held: string;
  readonly connection: DuckDBConnection;
}

/** Changes a target. Returns the rows of its tables then, or null if nothing had to be written. */
type Commit = (drafted: Drafted) => Promise<readonly TableRows[] | null>;

/** The tables of current state: of all websets, or of all monitors with their runs and results. */
const publishedTables: Readonly<Record<'events' | 'monitors', readonly Relation[]>> = {
  events: stateRelations,
  monitors: [monitors, runs, results],
};

export function createPublisher(database: Database, options: WarehousesOptions): Publisher {
  const { say = () => undefined, check, extensions = null } = options;

  /** The place of a target. Links in its path are followed once, before the check. */
  async function allowedPlace(to: string): Promise<Place> {
    const place = placeOf(to);
    if (!('path' in place)) return place;
    const { path: named, kind } = place;
    const path = kind === 'folder' ? join(realPath(dirname(named)), basename(named)) : realPath(named);
    await check?.({ publish: kind === 'ducklake' ? `ducklake:${path}` : path });
    return { kind, path };
  }

  /** Throws if the target is the warehouse, or the input of the job. */
  function refuse(place: Place, input: string | null): void {
    if (!('path' in place)) return;
    const { path, kind } = place;
    const into = database.file;
    const same = [into, input].find((other) => other !== null && other !== '-' && isSameFile(other, path));
    const is = `${path} is the ${same === into ? 'warehouse' : 'input'}: name another file`;
    const why = kind === 'folder' ? whyNoTarget('parquet', path, { into, input }) : same === undefined ? null : is;
    if (why !== null) throw new WarehouseUnusable('publish-target-invalid', why);
  }

  /** Runs `work` while no other publish writes a local target. The drafts of other targets are in the system's temporary folder. */
  function inWorkplace<T>(place: Place, work: (workplace: Workplace) => Promise<T>): Promise<T> {
    const inDrafts = (drafts: string, held = drafts) =>
      withScratchDuckDb(join(drafts, 'target-spill'), (connection) => work({ drafts, held, connection }));
    const shown = shownOf(place);
    const done = 'path' in place ? withDrafts('publish', shown, say, inDrafts) : withTemporaryFolder(inDrafts);
    return done.catch((error: unknown) => {
      const problem = publishError(error, shown);
      throw place.kind === 'file' || place.kind === 'ducklake' ? warehouseError(problem, shown) : problem;
    });
  }

  /** Opens a target. Its extensions are loaded, and a missing bucket is reported, before anything else is done. */
  async function withTarget<T>(
    place: Place,
    { connection, held }: Workplace,
    work: (commit: Commit) => Promise<T>,
  ): Promise<T> {
    if (place.kind === 'postgres')
      return withPostgresTarget(place.address, options, (postgres) =>
        work((drafted) => publishToPostgres(postgres, drafted, say)),
      );
    if (place.kind === 'file' || place.kind === 'ducklake') {
      const isLake = place.kind === 'ducklake';
      if (isLake) await loadExtension(connection, 'ducklake', extensions, 'Publishing to a DuckLake');
      return work((drafted) => publishToFile({ file: place.path, held, isLake }, drafted));
    }
    if (place.kind === 's3') await loadExtension(connection, 'httpfs', extensions, 'Publishing to s3://');
    const files = 'path' in place ? folderFiles(place.path) : await s3Files(connection, s3Place(place.address));
    const text = await readManifest(files);
    const before = text === null ? null : parseManifest(text, files.shown);
    return work((drafted) => publishFiles(files, before, drafted));
  }

  /** What is published: `source` names it in a target, so that two sources never share a table; `input` is the file that a target must not be. */
  async function subjectOf(reader: SourceDuckDb, subject: PublishSubject) {
    if (typeof subject === 'object') {
      const rows = await readJobRows(reader, subject.job, database.shown);
      return { source: `job ${subject.job}`, run: rows.run, input: rows.input, tables: [jobTable(rows.view, rows)] };
    }
    const tables = publishedTables[subject].map((table) => ({
      name: table.name,
      hasLong: false,
      async *parts() {
        yield await reader.table(table);
      },
    }));
    return { source: subject, run: null, input: null, tables };
  }

  function nothingToPublish(subject: PublishSubject): Error {
    if (typeof subject === 'object') return unknownJob(subject.job, database.shown);
    return new WarehouseUnusable(
      'job-not-loaded',
      `${database.shown} does not exist, so it has no ${subject}: name their warehouse with --from`,
    );
  }

  /** Copies the tables of the source into drafts, and then commits them. */
  async function draft(request: PublishRequest, place: Place, { drafts, connection }: Workplace, commit: Commit) {
    const shown = shownOf(place);
    const { subject } = request;
    const missing = () => nothingToPublish(subject);
    const { run, source, tables } = await withSource(database, 'snapshot', drafts, missing, async (reader) => {
      const found = await subjectOf(reader, subject);
      refuse(place, found.input);
      // These two targets keep integers of more than 64 bits.
      const keepsLong = place.kind === 'file' || place.kind === 'postgres';
      const staged = stageTables(reader.connection, found.tables, join(drafts, 'staged'), keepsLong);
      // The warehouse would report an error of the drafts, such as a full disk, as its own.
      const tables = await staged.catch((error: unknown) => {
        throw publishError(error, shown);
      });
      return { ...found, tables };
    });
    const now = Date.now();
    const id = publishId(now, randomBytes(4).toString('hex'));
    const record = { id, at: new Date(now).toISOString(), run: run ?? id, mode: request.mode };
    await setMemory(connection, Math.max(...tables.map(({ columns }) => memoryFor(columns.length))));
    if (request.mode === 'merge') for (const table of tables) await checkUnique(connection, table, request.key);
    const totals = await commit({ source, tables, request, record, connection, drafts });
    const total = (name: string) => totals?.find((table) => table.name === name)?.rows ?? 0;
    const published = tables.map(({ name, rows }) => ({ name, rows, total: total(name) }));
    return { ...record, target: shown, changed: totals !== null, tables: totals === null ? [] : published };
  }

  return {
    async publish(request) {
      const place = await allowedPlace(request.to);
      if (request.partition !== null && place.kind !== 'folder' && place.kind !== 's3')
        throw new WarehouseUnusable('option-unusable', '--partition is only for targets with files: leave it out');
      refuse(place, null);
      return inWorkplace(place, (workplace) =>
        withTarget(place, workplace, (commit) => draft(request, place, workplace, commit)),
      );
    },
    async check(to) {
      const place = await allowedPlace(to);
      // Opening a target changes nothing.
      await withTemporaryFolder((drafts) =>
        withScratchDuckDb(drafts, (connection) =>
          withTarget(place, { drafts, held: drafts, connection }, async () => undefined),
        ),
      );
    },
  };
}

/** The target, for messages. */
function shownOf(place: Place): string {
  if ('path' in place) return place.path;
  return place.kind === 's3' ? s3Place(place.address).url : postgresTarget(place.address).shown;
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
