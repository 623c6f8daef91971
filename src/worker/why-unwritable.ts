import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { isPostgresUrl } from '../postgres/index.js';

/**
 * Why the file of a warehouse can't be made or changed here; null where it can, and for a database. Makes its folder, as whoever writes
 * the file would.
 */
export function whyUnwritable(file: string): string | null {
  if (isPostgresUrl(file)) return null;
  try {
    mkdirSync(dirname(file), { recursive: true });
    // Not opened: that would end the locks which this process holds on it.
    if (existsSync(file)) accessSync(file, constants.W_OK);
    else rmdirSync(mkdtempSync(`${file}.`));
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
