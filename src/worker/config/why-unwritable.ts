import { accessSync, constants, existsSync, mkdtempSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isPostgresUrl } from '../../postgres/index.js';
import { whyNoDatabase } from '../../warehouse/index.js';

/** Why the file of a warehouse can't be made or changed here; null where it can, and for a database. Leaves nothing behind. */
export function whyUnwritable(file: string): string | null {
  if (isPostgresUrl(file)) return null;
  try {
    const why = whyNoDatabase(file);
    if (why !== null) return `it ${why}`;
    if (existsSync(file)) accessSync(file, constants.W_OK);
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
