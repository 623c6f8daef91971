import { accessSync, constants, existsSync, lstatSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, extname, join, relative, resolve, sep } from 'node:path';
import { isBareAddress } from '../../core/connections/postgres-address.js';
import { isPattern, NO_ADDRESS, whyNoPath } from '../../core/rows/source-fields.js';
import { type FileKind, fileKind } from '../../files/file-kind.js';
import { isWithin } from '../../files/is-within.js';
import { isSameFile, realPath } from '../../files/same-file.js';

export type TargetKind = 'csv' | 'parquet';

/** Files that an export must not overwrite; null or absent without such a file. */
export interface Sources {
  /** Path of the warehouse. A warehouse on a server has none. */
  readonly into?: string | null;
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
  // Not quoted, because an address may have a password.
  const noFile = existsSync(dirname(target)) ? null : whyNoPath(target, process.platform);
  const noPath = isBareAddress(target) ? NO_ADDRESS : noFile;
  if (noPath !== null) return `the value (not shown) ${noPath}`;
  try {
    const there = lstatSync(target, { throwIfNoEntry: false });
    const taken = into === null ? [] : [into, `${into}.wal`, `${into}.tmp`];
    if (taken.some((path) => isSameFile(path, target))) return `${target} is the warehouse ${into}: name another file`;
    if (input !== null && input !== '-' && isSameFile(input, target))
      return `${target} is the input ${input}: name another file`;
    if (input !== null && isFolder(input) && realPath(dirname(resolve(target))) === realPath(input))
      return `${target} is in the input folder ${input}, whose next run would read it: name another folder`;
    const isFile = input !== null && input !== '-' && !input.includes('://');
    if (isFile && isMatch(input, target))
      return `${target} would be a file of the input ${input}: name a file in another folder`;
    if (isFile && kind === 'parquet' && isWithin(realPath(target), realPath(firstFolder(input))))
      return `${target} has the input ${input}: name another folder`;
    if (there?.isSymbolicLink())
      return `${target} is a link to ${readlinkSync(target)}: name that file itself, or another one`;
    if (there && kind === 'parquet' && !there.isDirectory()) return `${target} is a file: name a folder`;
    const wrong = there && kind === 'csv' ? whyNoFile(target, there) : null;
    if (wrong !== null) return wrong;
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

/** The path of an input up to its first wildcard. */
export function firstFolder(input: string): string {
  const parts = resolve(input).split(sep);
  const first = existsSync(input) ? -1 : parts.findIndex(isPattern);
  return (first < 0 ? parts : parts.slice(0, first)).join(sep) || sep;
}

/** Whether the pattern of an input may match a path: by depth and ending, so some paths that do not match are refused, too. */
function isMatch(input: string, path: string): boolean {
  if (existsSync(input) || !isPattern(input)) return false;
  const pattern = resolve(input);
  const folder = firstFolder(input);
  const rest = pattern.slice(folder.length).split(sep).filter(Boolean);
  const steps = relative(realPath(folder), join(realPath(dirname(resolve(path))), basename(path))).split(sep);
  const ending = extname(pattern);
  const isEnding = ending === '' || isPattern(ending) || ending === extname(path);
  return steps[0] !== '..' && (rest.includes('**') || rest.length === steps.length) && isEnding;
}

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** The nearest existing folder: missing folders are made when a file is written. */
export function nearestThere(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearestThere(dirname(folder));
}
