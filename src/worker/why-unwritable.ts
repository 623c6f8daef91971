import {
  accessSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readSync,
  rmdirSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isPostgresUrl } from '../postgres/index.js';

/** Why the file of a warehouse can't be made or changed here; null where it can, and for a database. Leaves nothing behind. */
export function whyUnwritable(file: string): string | null {
  if (isPostgresUrl(file)) return null;
  try {
    const there = statSync(file, { throwIfNoEntry: false });
    if (!there) {
      rmdirSync(mkdtempSync(join(nearestThere(dirname(file)), '.searchflow-')));
      return null;
    }
    if (there.isDirectory()) return 'it is a folder';
    accessSync(file, constants.W_OK);
    return isDuckDb(file, there) ? null : 'it is no DuckDB database; name another file';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** An empty file is none either: DuckDB doesn't open it. */
function isDuckDb(file: string, there: Stats): boolean {
  if (!there.isFile()) return false;
  const magic = Buffer.alloc(4);
  // Never closed: that would end the locks which this process holds on the file.
  readSync(openSync(file, 'r'), magic, 0, 4, 8);
  return magic.toString('latin1') === 'DUCK';
}

/** Folders that are missing are made by whoever writes the file. */
function nearestThere(folder: string): string {
  return existsSync(folder) ? folder : nearestThere(dirname(folder));
}
