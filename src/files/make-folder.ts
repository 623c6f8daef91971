import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and its missing parents with this mode. Throws the system's error. Node's own `recursive` never returns if a parent
 * exists but can't hold folders, such as `/proc`.
 */
export function makeFolder(dir: string, mode = 0o700): void {
  if (isFolder(dir)) return;
  if (dirname(dir) !== dir) makeFolder(dirname(dir), mode);
  try {
    mkdirSync(dir, { mode });
  } catch (error) {
    // Another process may have made it in the meantime.
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

/**
 * Why the contents of a folder are not this user's alone, in words that follow its name; null where they are, where it is not there, and
 * on Windows. The process's own group may write there.
 */
export function whyNotOwn(dir: string): string | null {
  const found = isFolder(dir) ? statSync(dir) : null;
  if (found === null || process.geteuid === undefined) return null;
  if (found.uid !== process.geteuid()) return 'belongs to another user';
  if ((found.mode & 0o002) !== 0) return 'may be written by every user';
  return (found.mode & 0o020) !== 0 && found.gid !== process.getegid?.() ? 'may be written by another group' : null;
}
