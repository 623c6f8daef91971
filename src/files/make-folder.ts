import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder, and those above it that are missing, with this mode. Throws the system's error. Node's own `recursive` never ends
 * where a folder exists and takes none, as in `/proc`.
 */
export function makeFolder(dir: string, mode = 0o700): void {
  if (isFolder(dir)) return;
  if (dirname(dir) !== dir) makeFolder(dirname(dir), mode);
  try {
    mkdirSync(dir, { mode });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!isFolder(dir)) throw error;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
