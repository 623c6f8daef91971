import { constants, fstatSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { CodedError } from '../core/errors/coded-error.js';
import { realPath } from './same-file.js';

/** Linux names the file of each open handle; elsewhere paths are compared before and after. */
const HANDLES = process.platform === 'linux' ? `/proc/${process.pid}/fd` : null;
const ACCESS = 3;

/** A path that leads to the file or folder of an open handle, even if its name now leads elsewhere. */
export const pathOfHandle = (fd: number, path: string): string => (HANDLES === null ? path : `${HANDLES}/${fd}`);

/** The real path of an open file or folder, which was opened as `path`; null if it has no name any more. */
export function openedPath(fd: number, path: string): string | null {
  if (HANDLES !== null) return fstatSync(fd).nlink === 0 ? null : readlinkSync(`${HANDLES}/${fd}`);
  const real = realPath(path);
  const [opened, named] = [fstatSync(fd, { bigint: true }), statSync(real, { bigint: true, throwIfNoEntry: false })];
  return opened.dev === named?.dev && opened.ino === named.ino ? real : null;
}

/** The number of handles of this process on the file of this handle; null where the system does not tell. */
export function handlesOn(fd: number): number | null {
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return ownHandles((other) => {
    const found = fstatSync(other, { bigint: true });
    return found.dev === dev && found.ino === ino;
  });
}

/** Whether this process has the file of a real path open for writing; null where the system does not tell. */
export function isOpenForWriting(path: string): boolean | null {
  const found = ownHandles((fd) => {
    if (readlinkSync(`${HANDLES}/${fd}`) !== path) return false;
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & ACCESS) !== constants.O_RDONLY;
  });
  return found === null ? null : found > 0;
}

function ownHandles(isMeant: (fd: number) => boolean): number | null {
  if (HANDLES === null) return null;
  return readdirSync(HANDLES).filter((fd) => {
    try {
      return isMeant(Number(fd));
    } catch {
      // The handle was closed in the meantime.
      return false;
    }
  }).length;
}

/**
 * Runs work in a folder that cannot be exchanged meanwhile. `folder`: its real path; `work` gets a path that leads to the same folder.
 * Throws if a link now leads from the path to another folder.
 */
export async function inFolder<T>(folder: string, work: (held: string) => Promise<T>): Promise<T> {
  if (process.platform === 'win32') return work(folder);
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    if (openedPath(handle.fd, folder) !== folder)
      throw new CodedError('output-path-unusable', `${folder} was replaced by a link to another folder`);
    return await work(pathOfHandle(handle.fd, folder));
  } finally {
    await handle.close();
  }
}
