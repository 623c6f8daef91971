import { mkdirSync, rmdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { realPath } from './same-file.js';
import { syncFolderNow } from './write-durably.js';

/**
 * Makes a folder and its missing parents with this mode, durably: files in a folder are lost with the folder. Returns whether the folder is
 * new. Throws the system's error. Node's own `recursive` never returns if a parent such as `/proc` exists but cannot hold new folders.
 */
export function makeFolder(dir: string, mode = 0o700): boolean {
  if (isFolder(dir)) return false;
  if (dirname(dir) !== dir) makeFolder(dirname(dir), mode);
  try {
    mkdirSync(dir, { mode });
  } catch (error) {
    // Another process may have made the folder in the meantime.
    if (!isFolder(dir)) throw error;
    return false;
  }
  try {
    syncFolderNow(dirname(dir));
  } catch (error) {
    // The next call would not sync the parent of a folder that exists.
    try {
      rmdirSync(dir);
    } catch {
      // Another process has written to the folder in the meantime.
    }
    throw error;
  }
  return true;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/**
 * Returns why other users could change or replace the contents of a folder, in words that follow the name of the folder. Returns null if
 * other users cannot do so, and always on Windows. The process's own group may write to the folder. A parent that every user may write
 * must have the sticky bit, as `/tmp` has.
 */
export function whyNotOwn(dir: string): string | null {
  if (process.geteuid === undefined) return null;
  const found = statSync(dir, { throwIfNoEntry: false });
  if (found?.isDirectory()) {
    if (found.uid !== process.geteuid()) return 'belongs to another user';
    if ((found.mode & 0o002) !== 0) return 'can be written by every user';
    if ((found.mode & 0o020) !== 0 && found.gid !== process.getegid?.()) return 'can be written by another group';
  }
  const path = realPath(dir);
  for (let parent = dirname(path); ; parent = dirname(parent)) {
    const mode = statSync(parent, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & 0o002) !== 0 && (mode & 0o1000) === 0) return `can be replaced by every user, who may write ${parent}`;
    if (parent === dirname(parent)) return null;
  }
}
