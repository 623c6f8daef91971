import { accessSync, constants, existsSync, lstatSync, readlinkSync, type Stats } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type FileKind, fileKind } from '../../files/file-kind.js';
import { isSameFile, realPath } from '../../files/same-file.js';

/** Target of an export. */
export type TargetKind = 'csv' | 'parquet';

/** Files that an export must not overwrite; null or absent without such a file. */
export interface Sources {
  /** Path of the warehouse. A warehouse on a server has none. */
  readonly into?: string | null;
  /** Path of the job's input. */
  readonly input?: string | null;
}

const otherKinds: readonly (FileKind | null)[] = [
  'DuckDB database',
  'SQLite database',
  'Parquet file',
  'zip file or workbook',
];

/**
 * Returns why an export must not write to this path, as a sentence without its full stop; null if the export may. Compares files by
 * identity, not by name. Creates and changes nothing.
 */
export function whyNoTarget(kind: TargetKind, target: string, { into = null, input = null }: Sources): string | null {
  try {
    const there = lstatSync(target, { throwIfNoEntry: false });
    const taken = into === null ? [] : [into, `${into}.wal`, `${into}.tmp`];
    if (taken.some((path) => isSameFile(path, target))) return `${target} is the warehouse ${into}: name another file`;
    if (input !== null && input !== '-' && isSameFile(input, target))
      return `${target} is the input ${input}: name another file`;
    if (there?.isSymbolicLink())
      return `${target} is a link to ${readlinkSync(target)}: name that file itself, or another one`;
    const wrong = there && (kind === 'csv' ? whyNoFile(target, there) : whyNoFolder(target, there));
    if (wrong) return wrong;
    accessSync(realPath(nearestThere(dirname(resolve(target)))), constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return `${target} cannot be written (${error instanceof Error ? error.message : String(error)}): name another file`;
  }
}

function whyNoFile(target: string, there: Stats): string | null {
  if (there.isDirectory()) return `${target} is a folder: name a file`;
  if (!there.isFile()) return `${target} is not a regular file: name another one`;
  const kind = fileKind(target);
  return otherKinds.includes(kind) && kind !== null
    ? `${target} is a ${kind}, not a CSV file: name another file`
    : null;
}

function whyNoFolder(target: string, there: Stats): string | null {
  return there.isDirectory() ? null : `${target} is a file: name a folder`;
}

function nearestThere(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearestThere(dirname(folder));
}
