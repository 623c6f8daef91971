import { createHash, randomBytes } from 'node:crypto';
import { existsSync, lstatSync, type Stats } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { makeFolder } from './make-folder.js';
import { isAlive, ownIdentity, type ProcessIdentity, toIdentity } from './process-identity.js';
import { type LockWait, withLock } from './process-lock.js';
import { realPath } from './same-file.js';
import { ASIDE, moveDurably } from './write-durably.js';

/** The mark: a file in each draft folder that says whose it is. */
const MARK = 'searchflow-draft.json';

/** A draft of another machine, whose processes can't be seen from here, is abandoned after this. */
const ABANDONED_MS = 86_400_000;

/** Locks don't work in this folder, or not for this user: then only the random names keep two writers apart. */
const noLocks = ['EACCES', 'EPERM', 'EROFS', 'ENOLCK', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL', 'ENOSYS', 'ELOOP'];

/**
 * Runs `work` with a folder for drafts beside a target, one at a time for each target: in this process, on this machine, and on every
 * machine that shares the folder where its file system has locks. The folder has a random name, a mark and mode 0700, and is removed at
 * the end. What killed processes left for this target is removed first. Throws `LockBusy` where the wait is over.
 */
export async function withDraftFolder<T>(
  target: string,
  work: (folder: string) => Promise<T>,
  wait: LockWait,
): Promise<T> {
  makeFolder(dirname(target), 0o777);
  // Whatever links lead there, the place is one.
  const place = join(realPath(dirname(target)), basename(target));
  const prefix = prefixOf(place);
  let begun = false;
  const run = async (alone: boolean): Promise<T> => {
    begun = true;
    await removeAbandoned(place, prefix, alone);
    const folder = join(dirname(place), `${prefix}${randomBytes(8).toString('hex')}`);
    await mkdir(folder, { mode: 0o700 });
    try {
      const mark: Mark = { target: basename(place), host: hostname(), ...ownIdentity() };
      await writeFile(join(folder, MARK), `${JSON.stringify(mark)}\n`, { flag: 'wx', mode: 0o600 });
      return await work(folder);
    } finally {
      await removeFolder(folder);
    }
  };
  const lock = join(dirname(place), `${prefix}lock`);
  // A lock would empty what it opens: anything but a file of that name is not a lock of ours.
  if (!(statIfThere(lock)?.isFile() ?? true)) return run(false);
  try {
    return await withLock(lock, () => run(true), { ...wait, what: target, passing: true });
  } catch (error) {
    if (begun || !noLocks.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return run(false);
  }
}

/** Contents of the mark. */
interface Mark extends ProcessIdentity {
  readonly target: string;
  readonly host: string;
}

/** Names tell of which target a draft is, however long its own name is. */
function prefixOf(place: string): string {
  return `.searchflow-draft-${createHash('sha256').update(basename(place)).digest('hex').slice(0, 12)}-`;
}

/** Removes the folders of processes that were killed; a folder that one of them had just moved aside gets its name back. */
async function removeAbandoned(place: string, prefix: string, alone: boolean): Promise<void> {
  for (const name of await readdir(dirname(place))) {
    const folder = join(dirname(place), name);
    const ours = name.startsWith(prefix) && /^[0-9a-f]{16}$/.test(name.slice(prefix.length));
    if (!ours || !statIfThere(folder)?.isDirectory()) continue;
    if (!(await isAbandoned(folder, basename(place))) && !(alone && (await isUnmarked(folder)))) continue;
    const old = join(folder, ASIDE);
    if (existsSync(old) && !statIfThere(place)) await moveDurably(old, place);
    await removeFolder(folder);
  }
}

/** The mark goes last: what is left where this is cut short is still known as ours. */
async function removeFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name !== MARK) await rm(join(folder, name), { recursive: true, force: true });
  }
  await rm(folder, { recursive: true, force: true });
}

/** Killed before it had its mark, or after it: nothing else is in it. */
async function isUnmarked(folder: string): Promise<boolean> {
  const names = await readdir(folder);
  return names.length === 0 || (names.length === 1 && statIfThere(join(folder, MARK))?.size === 0);
}

async function isAbandoned(folder: string, target: string): Promise<boolean> {
  try {
    const path = join(folder, MARK);
    const stats = lstatSync(path);
    if (!stats.isFile()) return false;
    const mark = JSON.parse(await readFile(path, 'utf8')) as Partial<Mark>;
    const process = toIdentity(mark);
    if (process === null || mark.target !== target) return false;
    if (mark.host !== hostname()) return Date.now() - stats.mtimeMs > ABANDONED_MS;
    return !isAlive(process.pid, process.startTime);
  } catch {
    // No mark, or none of ours: somebody else's folder.
    return false;
  }
}

function statIfThere(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
