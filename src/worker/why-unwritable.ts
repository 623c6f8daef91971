import { accessSync, constants, existsSync, mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isPostgresUrl } from '../postgres/index.js';

/** Why the file of a warehouse can't be made or changed here; null where it can, and for a database. Leaves nothing behind. */
export function whyUnwritable(file: string): string | null {
  if (isPostgresUrl(file)) return null;
  try {
    const there = statSync(file, { throwIfNoEntry: false });
    if (there?.isDirectory()) return 'it is a folder';
    // Not opened: that would end the locks which this process holds on it.
    if (there) accessSync(file, constants.W_OK);
    else rmdirSync(mkdtempSync(join(nearestThere(dirname(file)), '.searchflow-')));
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Folders that are missing are made by whoever writes the file. */
function nearestThere(folder: string): string {
  return existsSync(folder) ? folder : nearestThere(dirname(folder));
}
