import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** More than any system follows. */
const MAX_LINKS = 64;

/** Whether two paths lead to one file or folder: by device and inode where both exist, else by where they would be made. */
export function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((path) => ifThere(() => statSync(path, { bigint: true })));
  if (a && b) return a.dev === b.dev && a.ino === b.ino;
  return !a && !b && realPath(one) === realPath(other);
}

/** The path without links, also of what does not exist yet. */
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
    // What can't be looked at is told by whoever opens it.
    return undefined;
  }
}
