import { lstatSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Bytes of a file or of all files in a folder; 0 if it does not exist. Links are not followed. */
export function sizeOf(path: string): number {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return 0;
  if (!found.isDirectory()) return found.size;
  return namesIn(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

/**
 * Removes the files and folders in a folder that were last changed before a time in Unix ms, and the folder if it is then empty. `isWanted`:
 * which of them; default: all. With `dryRun`, removes nothing. Returns their size in bytes.
 */
export function removeFolders(
  folder: string,
  before: number,
  dryRun: boolean,
  isWanted: (name: string) => boolean = () => true,
): number {
  let bytes = 0;
  for (const name of namesIn(folder)) {
    const path = join(folder, name);
    const changed = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs;
    if (!isWanted(name) || changed === undefined || changed >= before) continue;
    bytes += sizeOf(path);
    if (!dryRun) rmSync(path, { recursive: true, force: true });
  }
  if (!dryRun && bytes > 0) {
    try {
      rmdirSync(folder);
    } catch {
      // Something else is in it.
    }
  }
  return bytes;
}

/** The names of the folders in a folder; none if it does not exist. Links are not followed. */
export function folderNames(folder: string): readonly string[] {
  return namesIn(folder).filter((name) => lstatSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory());
}

/** The names in a folder; none if it does not exist or was removed meanwhile. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
