import { constants } from 'node:fs';
import { access, mkdtemp, open, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { shellWord } from '../../core/text/shell-word.js';
import { whyOtherFormat } from '../../store/process/folder-format.js';
import { whyForeign } from '../config/config.js';
import { type Found, messageOf, ok, problem, type Setup, warning } from './finding.js';

const MIB = 1_048_576;
/** Free space below which a job soon stops. The reserve for answers in flight takes up to 256 MiB. */
const LEAST_FREE = 256 * MIB;
const LITTLE_FREE = 1024 * MIB;
/** Bytes that are written to find out whether a folder takes files. */
const TRIAL = Buffer.alloc(65_536);

/** The setting that names another folder, for messages. */
interface Folder {
  readonly path: string;
  readonly what: string;
  readonly another: string;
}

export async function checkStateFolder({ env, cwd, config }: Setup): Promise<readonly Found[]> {
  const { stateDir: path } = config;
  const another = 'use another folder (SEARCHFLOW_STATE_DIR)';
  const folder = { path, what: 'state folder', another };
  const file = whyFile(await nearestThere(path), folder);
  if (file !== null) return [file];
  const foreign = whyForeign({ env, cwd }, path);
  if (foreign !== null) return [problem(`The state folder ${path} ${foreign}.`, ...mendOwner(path, foreign, another))];
  const format = whyOtherFormat(path, path);
  if (format !== null) {
    const [text = '', ...way] = format.split(/(?<=\.) (?=Update|Export|Restore)/);
    return [problem(text, way.join(' ') || 'Update searchflow.')];
  }
  return folderFindings(folder);
}

export async function checkUserFolder({ config }: Setup): Promise<readonly Found[]> {
  const { userStateDir: path } = config;
  return folderFindings({ path, what: 'folder of the user', another: 'name another one with XDG_STATE_HOME' });
}

/** The folder of warehouses and CSV files by default. */
export async function checkOutputFolder({ cwd }: Setup): Promise<readonly Found[]> {
  return folderFindings({
    path: resolve(cwd, 'out'),
    what: 'output folder',
    another: 'name files elsewhere (--into, --csv)',
  });
}

function mendOwner(path: string, foreign: string, another: string): [mend: string, command: string] {
  if (foreign.startsWith('belongs'))
    return [`Give it back to this user, or ${another}:`, `sudo chown -R "$(id -un)" ${shellWord(path)}`];
  const parent = /who may write (.+)$/.exec(foreign)?.[1];
  return parent === undefined
    ? [`Let only its owner write, or ${another}:`, `chmod go-w ${shellWord(path)}`]
    : [`Protect its parent folder with the sticky bit, or ${another}:`, `chmod +t ${shellWord(parent)}`];
}

/** Whether files can be written to a folder, and its free space. A missing folder is not made; then its nearest parent is checked. */
async function folderFindings(folder: Folder): Promise<readonly Found[]> {
  const { path, what, another } = folder;
  const there = await nearestThere(path);
  const file = whyFile(there, folder);
  if (file !== null) return [file];
  const isThere = there.path === path;
  const why = await (isThere ? whyNotWritten(path) : whyNoAccess(there.path));
  if (why !== null)
    return [problem(`The ${what} ${path} cannot be written: ${why.text}.`, ...mendOf(why.code, there.path, another))];
  const { free, inodes } = await spaceOf(there.path);
  const space = `${megabytes(free)} free`;
  const mend = `Free some space, or ${another}.`;
  if (inodes === 0) return [problem(`The file system of the ${what} ${path} has no free inodes.`, mend)];
  if (free < LEAST_FREE) return [problem(`The ${what} ${path} has little space: ${space}.`, mend)];
  if (free < LITTLE_FREE) return [warning(`The ${what} ${path} has little space: ${space}.`, mend)];
  return [
    ok(`The ${what} ${path} ${isThere ? 'can be written' : 'is made by the first command that needs it'}; ${space}.`),
  ];
}

/** The finding about a file where a folder must be; null if there is none. */
function whyFile(
  there: { readonly path: string; readonly isFolder: boolean },
  { path, what, another }: Folder,
): Found | null {
  if (there.isFolder) return null;
  return problem(
    `The ${what} ${path} cannot be made: ${there.path} is not a folder.`,
    `Remove that file, or ${another}.`,
  );
}

interface Why {
  readonly text: string;
  readonly code: string;
}

const whyOf = (error: unknown): Why => ({
  text: messageOf(error).split(', ', 1)[0] ?? '',
  code: (error as NodeJS.ErrnoException).code ?? '',
});

function mendOf(code: string, path: string, another: string): [mend: string, command?: string] {
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return [`Free some space (the disk or the quota is full), or ${another}.`];
  if (code === 'EROFS') return [`Mount the file system for writing, or ${another}.`];
  return [`Give this user the right to write, or ${another}:`, `sudo chown "$(id -un)" ${shellWord(path)}`];
}

async function whyNoAccess(path: string): Promise<Why | null> {
  return access(path, constants.W_OK | constants.X_OK).then(() => null, whyOf);
}

/** Writes a file durably in a folder of its own, and removes both. */
async function whyNotWritten(path: string): Promise<Why | null> {
  let folder: string | null = null;
  try {
    folder = await mkdtemp(join(path, '.searchflow-doctor-'));
    const file = await open(join(folder, 'trial'), 'wx', 0o600);
    try {
      await file.writeFile(TRIAL);
      await file.sync();
    } finally {
      await file.close();
    }
    return null;
  } catch (error) {
    return whyOf(error);
  } finally {
    if (folder !== null) await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** The path itself, or its nearest parent that exists. */
async function nearestThere(path: string): Promise<{ readonly path: string; readonly isFolder: boolean }> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    // A parent that is a file is found one step later.
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  });
  if (found === null && dirname(path) !== path) return nearestThere(dirname(path));
  return { path, isFolder: found?.isDirectory() ?? false };
}

async function spaceOf(path: string): Promise<{ readonly free: number; readonly inodes: number | null }> {
  const { bavail, bsize, files, ffree } = await statfs(path);
  // Some file systems do not count inodes.
  return { free: bavail * bsize, inodes: files === 0 ? null : ffree };
}

const megabytes = (bytes: number): string =>
  bytes < 10_240 * MIB ? `${Math.floor(bytes / MIB)} MiB` : `${Math.floor(bytes / MIB / 1024)} GiB`;
