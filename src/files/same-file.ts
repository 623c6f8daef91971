import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** Longest chain of links that is followed; no system follows more. */
const MAX_LINKS = 64;

/** Whether two paths name one file or folder: by device and inode if both exist, else by their real paths. */
export function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((path) => ifThere(() => statSync(path, { bigint: true })));
  if (a && b) return a.dev === b.dev && a.ino === b.ino;
  return !a && !b && realPath(one) === realPath(other);
}

/** The path without links, even for a file that does not exist yet. */
export function realPath(path: string, links = 0): string {
  const absolute = resolve(path);
  try {
    return realpathSync.native(absolute);
  } catch {
    if (dirname(absolute) === absolute) return absolute;
    const here = join(realPath(dirname(absolute), links), basename(absolute));
    const link = links < MAX_LINKS && ifThere(() => lstatSync(here))?.isSymbolicLink();
    return link ? realPath(resolve(dirname(here), readlinkSync(here)), links + 1) : here;
  }
}

function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    // The caller that opens the file reports the error.
    return undefined;
  }
}
