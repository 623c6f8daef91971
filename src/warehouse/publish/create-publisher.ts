import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { ErrorCode } from '../../core/errors/registry.js';
import type { Published, Publisher, PublishRequest, PublishSubject } from '../../core/publish-request.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { isSameFile, realPath } from '../../files/same-file.js';
import type { Database, WarehousesOptions } from '../database.js';
import { stateRelations } from '../events/event-tables.js';
import { withDrafts, withSource } from '../export/create-exports.js';
import { jobTable, readJobRows, type SourceTable } from '../export/file-parts.js';
import { memoryFor, type SourceDuckDb } from '../export/job-rows.js';
import { whyNoTarget } from '../export/why-no-target.js';
import { monitors, results, runs } from '../monitors/monitor-tables.js';
import { unknownJob } from '../rows/row-store.js';
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

interface PublishSource extends WarehousesOptions {
  readonly database: Database;
  readonly say: (sentence: string) => void;
}

/** A folder for drafts, and a DuckDB that reads them and may write the target. `held`: see `withDraftFolder`. */
interface Workplace {
  readonly drafts: string;
  readonly held: string;
  readonly connection: DuckDBConnection;
}

/** Changes a target. Returns the rows of its tables then, or null if nothing had to be written. */
type Commit = (drafted: Drafted) => Promise<readonly TableRows[] | null>;

export function createPublisher(database: Database, options: WarehousesOptions): Publisher {
  const source: PublishSource = { say: () => undefined, ...options, database };
  return {
    async publish(request) {
      const place = await allowedPlace(source, request.to);
      if (request.partition !== null && place.kind !== 'folder' && place.kind !== 's3')
        throw new WarehouseUnusable('option-unusable', '--partition is only for targets with files: leave it out');
      refuse(source, place, null);
      return inWorkplace(source, place, (workplace) =>
        withTarget(source, place, workplace, (commit) => draft(source, request, place, workplace, commit)),
      );
    },
    async check(to) {
      const place = await allowedPlace(source, to);
      // Opening a target changes nothing.
      await withTemporaryFolder((drafts) =>
        withScratchDuckDb(drafts, (connection) =>
          withTarget(source, place, { drafts, held: drafts, connection }, async () => undefined),
        ),
      );
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

/** The target, for messages. */
function shownOf(place: Place): string {
  if ('path' in place) return place.path;
  return place.kind === 's3' ? s3Place(place.address).url : postgresTarget(place.address).shown;
}

/** Throws if the target is the warehouse, or the input of the job. */
function refuse({ database: { file: into } }: PublishSource, place: Place, input: string | null): void {
  if (!('path' in place)) return;
  const { path, kind } = place;
  const same = [into, input].find((other) => other !== null && other !== '-' && isSameFile(other, path));
  const is = `${path} is the ${same === into ? 'warehouse' : 'input'}: name another file`;
  const why = kind === 'folder' ? whyNoTarget('parquet', path, { into, input }) : same === undefined ? null : is;
  if (why !== null) throw new WarehouseUnusable('publish-target-invalid', why);
}

/** Runs `work` while no other publish writes a local target. The drafts of other targets are in the system's temporary folder. */
function inWorkplace<T>(source: PublishSource, place: Place, work: (workplace: Workplace) => Promise<T>): Promise<T> {
  const inDrafts = (drafts: string, held = drafts) =>
    withScratchDuckDb(join(drafts, 'target-spill'), (connection) => work({ drafts, held, connection }));
  const shown = shownOf(place);
  const done = 'path' in place ? withDrafts('publish', shown, source.say, inDrafts) : withTemporaryFolder(inDrafts);
  return done.catch((error: unknown) => {
    const problem = publishError(error, shown);
    throw place.kind === 'file' || place.kind === 'ducklake' ? warehouseError(problem, shown) : problem;
  });
}

/** Opens a target. Its extensions are loaded, and a missing bucket is reported, before anything else is done. */
async function withTarget<T>(
  source: PublishSource,
  place: Place,
  { connection, held }: Workplace,
  work: (commit: Commit) => Promise<T>,
): Promise<T> {
  const { extensions = null } = source;
  if (place.kind === 'postgres')
    return withPostgresTarget(place.address, source, (postgres) =>
      work((drafted) => publishToPostgres(postgres, drafted, source.say)),
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

/** A subject: `source` names it in a target, so that two sources never share a table. `input`: the file that a target must not be. */
async function subjectOf(reader: SourceDuckDb, subject: PublishSubject, shown: string) {
  if (typeof subject !== 'object') {
    const tables = publishedTables[subject].map((table) => wholeTable(reader, table));
    return { source: subject, run: null, input: null, tables };
  }
  const rows = await readJobRows(reader, subject.job, shown);
  const { run, input, view } = rows;
  return { source: `job ${subject.job}`, run, input, tables: [jobTable(view, rows)] };
}

const wholeTable = (source: SourceDuckDb, table: Relation): SourceTable => ({
  name: table.name,
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

function nothingToPublish(subject: 'events' | 'monitors', shown: string): WarehouseUnusable {
  return new WarehouseUnusable(
    'job-not-loaded',
    `${shown} does not exist, so it has no ${subject}: name their warehouse with --from`,
  );
}

/** Copies the tables of the source into drafts, and then commits them. */
async function draft(
  source: PublishSource,
  request: PublishRequest,
  place: Place,
  { drafts, connection }: Workplace,
  commit: Commit,
): Promise<Published> {
  const shown = shownOf(place);
  const { subject } = request;
  const { database } = source;
  const missing = () =>
    typeof subject === 'object' ? unknownJob(subject.job, database.shown) : nothingToPublish(subject, database.shown);
  const read = await withSource(database, 'snapshot', drafts, missing, async (reader) => {
    const found = await subjectOf(reader, subject, database.shown);
    refuse(source, place, found.input);
    // These two targets keep integers of more than 64 bits.
    const keepsLong = place.kind === 'file' || place.kind === 'postgres';
    const staged = stageTables(reader.connection, found.tables, join(drafts, 'staged'), keepsLong);
    // The warehouse would report an error of the drafts, such as a full disk, as its own.
    const tables = await staged.catch((error: unknown) => {
      throw publishError(error, shown);
    });
    return { ...found, tables };
  });
  const { tables } = read;
  const now = Date.now();
  const id = publishId(now, randomBytes(4).toString('hex'));
  const record = { id, at: new Date(now).toISOString(), run: read.run ?? id, mode: request.mode };
  await setMemory(connection, Math.max(...tables.map(({ columns }) => memoryFor(columns.length))));
  if (request.mode === 'merge') for (const table of tables) await checkUnique(connection, table, request.key);
  const totals = await commit({ source: read.source, tables, request, record, connection, drafts });
  const total = (name: string) => totals?.find((table) => table.name === name)?.rows ?? 0;
  return {
    ...record,
    target: shown,
    changed: totals !== null,
    tables: totals === null ? [] : tables.map(({ name, rows }) => ({ name, rows, total: total(name) })),
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
