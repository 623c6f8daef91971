import { constants, fstatSync, lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { link, lstat, open, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CodedError } from '../core/errors/coded-error.js';
import { makeFolder, whyNotOwn } from './make-folder.js';
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
  return (
    openFiles((other) => {
      const found = fstatSync(other, { bigint: true });
      return found.dev === dev && found.ino === ino;
    })?.length ?? null
  );
}

/** A file that this process has open: its real path, and a path that leads to the file even if its name now leads elsewhere. */
export interface OpenFile {
  readonly path: string;
  readonly handle: string;
}

/** The files that this process has open for writing; null where the system does not tell. */
export const filesOpenForWriting = (): readonly OpenFile[] | null =>
  openFiles((fd) => {
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & ACCESS) !== constants.O_RDONLY;
  });

function openFiles(isMeant: (fd: number) => boolean): readonly OpenFile[] | null {
  if (HANDLES === null) return null;
  return readdirSync(HANDLES).flatMap((fd) => {
    try {
      const handle = `${HANDLES}/${fd}`;
      return isMeant(Number(fd)) ? [{ path: readlinkSync(handle), handle }] : [];
    } catch {
      // The handle was closed in the meantime.
      return [];
    }
  });
}

/**
 * Runs work in a folder that cannot be exchanged meanwhile. `folder`: its real path; `work` gets a path that leads to the same folder.
 * `mode`: makes the folder and its missing parents with this mode. Throws if a link now leads from the path to another folder.
 */
export async function inFolder<T>(folder: string, work: (held: string) => Promise<T>, mode?: number): Promise<T> {
  const parent = dirname(folder);
  if (mode !== undefined && parent !== folder && !lstatSync(folder, { throwIfNoEntry: false }))
    await inFolder(parent, async (held) => makeFolder(join(held, basename(folder)), mode), mode);
  if (process.platform === 'win32') return work(folder);
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    if (openedPath(handle.fd, folder) !== folder)
      throw new CodedError('output-path-unusable', `${folder} was replaced by a link to another folder`);
    return await work(pathOfHandle(handle.fd, folder));
  } catch (error) {
    // The path of a handle says nothing to a reader.
    if (error instanceof Error) error.message = error.message.replaceAll(pathOfHandle(handle.fd, folder), folder);
    throw error;
  } finally {
    await handle.close();
  }
}

/**
 * Gives a file a second name in a folder of this process, where no other user can exchange it. Returns that name; null if there is no file.
 * Returns the first name if the file system has no second names and only the owner of the folder can exchange its files. Throws for a link.
 */
export async function secondName(path: string, name: string): Promise<string | null> {
  try {
    await link(path, name);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(code) || whyNotOwn(dirname(path)) !== null) throw error;
    return path;
  }
  if ((await lstat(name)).isFile()) return name;
  await rm(name);
  throw new CodedError(
    'output-path-unusable',
    `${basename(path)} is a link or not a regular file: name the file itself`,
  );
}
