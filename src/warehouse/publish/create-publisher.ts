import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Secret } from '../../core/connections/secret.js';
import type {
  Published,
  Publisher,
  PublishRecord,
  PublishRequest,
  PublishSubject,
} from '../../core/publish/publish-request.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import { withDraftFolder } from '../../files/draft-folder.js';
import { LockBusy } from '../../files/process-lock.js';
import { isSameFile } from '../../files/same-file.js';
import { memoryFor } from '../export/job-rows.js';
import { whyNoTarget } from '../export/why-no-target.js';
import { warehouseError } from '../shared/duckdb-error.js';
import { loadExtension } from '../shared/load-extension.js';
import { setMemory, withScratchDuckDb } from '../shared/scratch-duckdb.js';
import { withTemporaryFolder } from '../shared/temporary-folder.js';
import { attachTarget, checkLake, isWarehouse, publishToDatabase, type TableRows } from './database-target.js';
import { folderFiles } from './folder-files.js';
import type { SourceReader } from './job-table.js';
import { parseManifest, publishId } from './manifest.js';
import { placeOf } from './place-of.js';
import { refusePartition } from './plan-rows.js';
import { postgresTarget, publishToPostgres, withPostgresTarget } from './postgres-target.js';
import { publishError } from './publish-error.js';
import { openFiles, publishFiles } from './publish-files.js';
import { type S3Place, s3Files, s3Place, setS3 } from './s3-files.js';
import { type Staged, stageTables } from './stage-tables.js';

/** Time for which a publish waits for another publish into the same folder or file. */
const WAIT_MS = 600_000;

export interface PublishOptions {
  readonly say: (sentence: string) => void;
  /** See `WarehousesOptions.credentialsFor`. */
  readonly credentialsFor?: (address: string) => Secret | null;
  /** See `WarehousesOptions.extensions`. */
  readonly extensions?: string | null;
}

/** The parts of a warehouse for a publish. */
export interface PublishSource extends PublishOptions {
  /** The file of the warehouse; null for a warehouse on a server. */
  readonly file: string | null;
  /** Runs `work` on one state of the source; may repeat `work`. `scratch`: a folder for temporary files, which the caller removes. */
  read<T>(subject: PublishSubject, scratch: string, work: (reader: SourceReader) => Promise<T>): Promise<T>;
}

/** The drafts of a publish, and its record. */
interface Drafted {
  readonly staged: Staged;
  readonly request: PublishRequest;
  readonly record: PublishRecord;
  readonly connection: DuckDBConnection;
  readonly drafts: string;
}

export function createPublisher(source: PublishSource): Publisher {
  return {
    async publish(request) {
      const place = placeOf(request.to);
      if (place.kind === 'folder') return toFolder(source, request, place.path);
      if (place.kind === 's3') return toS3(source, request, place.address);
      refusePartition(request);
      if (place.kind === 'postgres') return toPostgres(source, request, place.address);
      return toFile(source, request, place.path, place.kind);
    },
    async check(to) {
      const place = placeOf(to);
      if (place.kind === 'folder') await folderFiles(place.path).manifest();
      if (place.kind === 's3') await withTemporaryFolder((drafts) => s3Manifest(source, place.address, drafts));
      if (place.kind === 'postgres')
        await withPostgresTarget(loginOf(source, place.address), source.say, async () => {});
      if (place.kind === 'ducklake')
        await withTemporaryFolder((drafts) => withScratchDuckDb(drafts, (connection) => loadLake(source, connection)));
    },
  };
}

function toFolder(source: PublishSource, request: PublishRequest, folder: string): Promise<Published> {
  const refuse = (input: string | null) => {
    const why = whyNoTarget('parquet', folder, { into: source.file, input });
    if (why !== null) throw new WarehouseUnusable('publish-target-invalid', why);
  };
  refuse(null);
  return locked(source, folder, async (drafts) => {
    const files = folderFiles(folder);
    const before = await openFiles(files);
    return draft(source, request, { drafts, shown: folder, refuse }, (drafted) =>
      publishFiles({ ...drafted, files, before }),
    );
  });
}

async function withS3(
  { extensions }: PublishSource,
  connection: DuckDBConnection,
  place: S3Place,
): Promise<DuckDBConnection> {
  await loadExtension(connection, 'httpfs', extensions ?? null, 'Publishing to s3://');
  await setS3(connection, place);
  return connection;
}

function s3Manifest(source: PublishSource, address: string, drafts: string): Promise<string | null> {
  const place = s3Place(address);
  return withScratchDuckDb(join(drafts, 'spill'), async (connection) =>
    s3Files(await withS3(source, connection, place), place).manifest(),
  );
}

const loadLake = ({ extensions }: PublishSource, connection: DuckDBConnection): Promise<void> =>
  loadExtension(connection, 'ducklake', extensions ?? null, 'Publishing to a DuckLake');

/** Drafts are in the system's temporary folder. */
function toS3(source: PublishSource, request: PublishRequest, address: string): Promise<Published> {
  const place = s3Place(address);
  return withTemporaryFolder(async (drafts) => {
    // The target is read first, so that a missing bucket is reported before anything else is done.
    const text = await s3Manifest(source, address, drafts);
    const before = text === null ? null : parseManifest(text, place.url);
    return draft(source, request, { drafts, shown: place.url, refuse: () => undefined }, async (drafted) => {
      const files = s3Files(await withS3(source, drafted.connection, place), place, text);
      return publishFiles({ ...drafted, files, before });
    }).catch((error: unknown) => {
      throw publishError(error, place.url);
    });
  });
}

/** A DuckDB file, or the catalog of a DuckLake. */
function toFile(
  source: PublishSource,
  request: PublishRequest,
  file: string,
  kind: 'file' | 'ducklake',
): Promise<Published> {
  const refuse = (input: string | null) => {
    for (const other of [source.file, input])
      if (other !== null && other !== '-' && isSameFile(other, file))
        throw new WarehouseUnusable(
          'publish-target-invalid',
          `${file} is the ${other === source.file ? 'warehouse' : 'input'}: name another file`,
        );
  };
  refuse(null);
  const load = async (connection: DuckDBConnection) => {
    if (kind === 'ducklake') await loadLake(source, connection);
  };
  return locked(source, file, async (drafts) => {
    // A missing extension is reported before anything is read.
    await withScratchDuckDb(join(drafts, 'spill'), load);
    return draft(source, request, { drafts, shown: file, refuse }, async (drafted) => {
      const { connection } = drafted;
      await load(connection);
      // Inlined rows would be in the catalog only, where other readers of the files do not find them.
      if (kind === 'ducklake') {
        await attachTarget(connection, `ducklake:${file}`, 'DATA_INLINING_ROW_LIMIT 0');
        await checkLake(connection, file);
      } else await attachTarget(connection, file);
      if (await isWarehouse(connection))
        throw new WarehouseUnusable(
          'publish-target-invalid',
          `${file} is a warehouse of searchflow: name another file`,
        );
      return publishToDatabase({ ...drafted, shown: file });
    }).catch((error: unknown) => {
      throw warehouseError(publishError(error, file), file);
    });
  });
}

function toPostgres(source: PublishSource, request: PublishRequest, url: string): Promise<Published> {
  const { shown } = postgresTarget(url);
  return withTemporaryFolder((drafts) =>
    withPostgresTarget(loginOf(source, url), source.say, (postgres) =>
      draft(source, request, { drafts, shown, refuse: () => undefined }, (drafted) =>
        publishToPostgres({ ...drafted, postgres }),
      ),
    ),
  );
}

/** The address with the user and password that are known for it. */
function loginOf({ credentialsFor }: PublishSource, url: string): string {
  const { carried, user, password } = postgresTarget(url);
  const known = user === null && password === null ? credentialsFor?.(carried)?.reveal() : null;
  return known ?? url;
}

/** Runs `work` while no other publish writes the target. The folder of drafts is beside the target. */
async function locked<T>({ say }: PublishSource, target: string, work: (drafts: string) => Promise<T>): Promise<T> {
  try {
    return await withDraftFolder(target, work, { waitMs: WAIT_MS, say });
  } catch (error) {
    if (error instanceof LockBusy)
      throw new WarehouseBusy('target-in-use', `Another publish is writing ${target}: ${error.message}`, error.pid);
    throw publishError(error, target);
  }
}

/** Copies the tables of the source into drafts, and then commits them. */
async function draft(
  source: PublishSource,
  request: PublishRequest,
  {
    drafts,
    shown,
    refuse,
  }: { readonly drafts: string; readonly shown: string; readonly refuse: (input: string | null) => void },
  commit: (drafted: Drafted) => Promise<readonly TableRows[] | null>,
): Promise<Published> {
  const staged = await source.read(request.subject, drafts, (reader) => {
    refuse(reader.input);
    // The warehouse would report an error of the drafts, such as a full disk, as its own.
    return stageTables(reader, join(drafts, 'staged')).catch((error: unknown) => {
      throw publishError(error, shown);
    });
  });
  const record = newRecord(request, staged.run);
  const tables = await withScratchDuckDb(join(drafts, 'spill'), async (connection) => {
    await setMemory(connection, Math.max(...staged.tables.map(({ columns }) => memoryFor(columns.length))));
    return commit({ staged, request, record, connection, drafts });
  });
  const total = (name: string) => tables?.find((table) => table.name === name)?.rows ?? 0;
  return {
    ...record,
    target: shown,
    changed: tables !== null,
    tables: tables === null ? [] : staged.tables.map(({ name, rows }) => ({ name, rows, total: total(name) })),
  };
}

function newRecord({ mode }: PublishRequest, run: string | null): PublishRecord {
  const now = Date.now();
  const id = publishId(now, randomBytes(4).toString('hex'));
  return { id, at: new Date(now).toISOString(), run: run ?? id, mode };
}
