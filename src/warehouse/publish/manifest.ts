import { createHash } from 'node:crypto';
import type { PublishMode, PublishPartition } from '../../core/choices.js';
import type { PublishRecord } from '../../core/publish-request.js';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import type { TableColumn } from '../export/file-parts.js';

export const MANIFEST = 'manifest.json';
const FORMAT = 'searchflow-publish';
const VERSION = 1;

export interface ManifestFile {
  /** Relative to the manifest, with slashes. */
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
  /** Such as `day=2026-11-23`; null without partitions. */
  readonly partition: string | null;
  /** The run and the publish that wrote the file. */
  readonly run: string;
  readonly publish: string;
}

/** A table of a target, as its latest publish left it. */
export interface ManifestTable {
  readonly name: string;
  readonly source: string;
  readonly columns: readonly TableColumn[];
  readonly rows: number;
  readonly partitionBy: PublishPartition | null;
  readonly files: readonly ManifestFile[];
  /** The latest publish of the table. */
  readonly publish: string;
  readonly at: string;
  readonly run: string;
  readonly mode: PublishMode;
  readonly key: readonly string[];
  /** Hash of the rows of that publish. */
  readonly content: string;
}

/** The contents of `manifest.json`: the current state of a target. Files that it does not name are not part of the state. */
export interface Manifest {
  readonly format: typeof FORMAT;
  readonly version: typeof VERSION;
  readonly publish: PublishRecord;
  readonly tables: readonly ManifestTable[];
}

export const manifestText = (publish: PublishRecord, tables: readonly ManifestTable[]): string =>
  `${JSON.stringify({ format: FORMAT, version: VERSION, publish, tables } satisfies Manifest, null, 2)}\n`;

/** Parses a manifest. Throws `WarehouseUnusable` for a file of another program or version. `shown`: the target, for messages. */
export function parseManifest(text: string, shown: string): Manifest {
  let found: Partial<Manifest> | null = null;
  try {
    found = JSON.parse(text) as Partial<Manifest> | null;
  } catch {
    // Reported below.
  }
  const where = `The ${MANIFEST} of ${shown}`;
  if (found?.format !== FORMAT)
    throw new WarehouseUnusable('publish-target-taken', `${where} is not one of searchflow: name another target`);
  if (found.version !== VERSION)
    throw new WarehouseUnusable(
      'publish-target-taken',
      `${where} was written by a newer version of searchflow: update searchflow`,
    );
  const tables: unknown = found.tables;
  if (!Array.isArray(tables) || !tables.every(isTable))
    throw new WarehouseUnusable('publish-target-damaged', `${where} is damaged: restore it, or name another target`);
  return found as Manifest;
}

function isTable(value: unknown): boolean {
  const { name, columns, files } = (value ?? {}) as Partial<ManifestTable>;
  if (typeof name !== 'string' || !Array.isArray(columns) || !Array.isArray(files)) return false;
  // The paths decide which files are read, so a path must not leave the target.
  return files.every((file: Partial<ManifestFile> | null) => typeof file?.path === 'string' && isDataPath(file.path));
}

/** The id of a publish at this time (Unix ms). `random`: 8 hexadecimal digits. */
export function publishId(at: number, random: string): string {
  return `${new Date(at).toISOString().replace(/[-:]|\.\d+/g, '')}-${random}`;
}

const DATA_PATH = /^[\w-][\w.-]{0,99}\/(?:(?:run|day)=[\w.-]{1,100}\/)?\d{8}T\d{6}Z-[0-9a-f]{8}-\d{5}\.parquet$/;

/** Whether a path below a target has the name of a data file of a publish. */
export const isDataPath = (path: string): boolean => DATA_PATH.test(path);

/** The path of a new data file. No other publish has the same id, so the name is new. */
export function dataPath(table: string, partition: string | null, id: string, number: number): string {
  const file = `${id}-${String(number).padStart(5, '0')}.parquet`;
  return [folderOf(table), ...(partition === null ? [] : [partition]), file].join('/');
}

/** The folder of a table: its name, or a hash of a name that is not a plain file name everywhere. */
function folderOf(table: string): string {
  return /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}$/.test(table)
    ? table
    : `table-${createHash('sha256').update(table).digest('hex').slice(0, 16)}`;
}

export function partitionOf(
  by: PublishPartition | null,
  { at, run }: Pick<PublishRecord, 'at' | 'run'>,
): string | null {
  if (by === null) return null;
  return by === 'day' ? `day=${at.slice(0, 10)}` : `run=${run.replace(/[^\w.-]/g, '_').slice(0, 100)}`;
}
