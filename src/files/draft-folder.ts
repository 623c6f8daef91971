import { createHash, randomBytes } from 'node:crypto';
import { existsSync, lstatSync, type Stats } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { inFolder } from './open-path.js';
import { isAlive, ownIdentity, type ProcessIdentity, toIdentity } from './process-identity.js';
import { type LockWait, withLock } from './process-lock.js';
import { ASIDE, isDraftOf, moveDurably, writeDurably } from './write-durably.js';

/** Name of the marker file in each draft folder: it names the target and the process. */
const MARK = 'searchflow-draft.json';

/** Age after which a draft of another machine counts as abandoned: the process of such a draft cannot be checked from this machine. */
const ABANDONED_MS = 86_400_000;

/**
 * Errors of folders where locks do not work, at least for this user. In such folders, only the random names of drafts keep two writers
 * apart.
 */
const noLocks = ['EACCES', 'EPERM', 'EROFS', 'ENOLCK', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL', 'ENOSYS', 'ELOOP'];

/**
 * Runs `work` with a folder for drafts beside a target, whose own folder is a real path and is made if it is missing. Calls for one target
 * run one at a time: in this process, on this machine, and, if the file system has locks, on all machines that share the file system. The
 * folder has a random name, a marker file and mode 0700, and is removed at the end. Drafts of killed processes for this target are removed
 * first. `held`: a path to the target's folder that cannot be exchanged, see `inFolder`. Throws `LockBusy` when the wait times out.
 */
export function withDraftFolder<T>(
  target: string,
  work: (folder: string, held: string) => Promise<T>,
  wait: LockWait,
): Promise<T> {
  const parent = dirname(target);
  return inFolder(
    parent,
    async (held) => {
      const path = join(held, basename(target));
      const prefix = prefixOf(path);
      let begun = false;
      const run = async (alone: boolean): Promise<T> => {
        begun = true;
        await removeAbandoned(path, prefix, alone);
        const name = `${prefix}${randomBytes(8).toString('hex')}`;
        const folder = join(held, name);
        await mkdir(folder, { mode: 0o700 });
        try {
          const mark: Mark = { target: basename(path), host: hostname(), ...ownIdentity() };
          await writeDurably(join(folder, MARK), `${JSON.stringify(mark)}\n`);
          // The random name leads to no other folder, also if the parent is exchanged.
          return await work(join(parent, name), held);
        } finally {
          await removeFolder(folder);
        }
      };
      const lock = join(held, `${prefix}lock`);
      // Taking a lock empties the lock file. So if the file of that name is not a regular file, no lock is taken.
      if (!(statIfThere(lock)?.isFile() ?? true)) return run(false);
      try {
        return await withLock(lock, () => run(true), { ...wait, what: target, passing: true });
      } catch (error) {
        if (begun || !noLocks.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
        return run(false);
      }
    },
    0o777,
  );
}

/** Contents of the marker file. */
interface Mark extends ProcessIdentity {
  readonly target: string;
  readonly host: string;
}

/** Prefix of the drafts of a target: a hash, because the target's own name may be too long. */
function prefixOf(path: string): string {
  return `.searchflow-draft-${createHash('sha256').update(basename(path)).digest('hex').slice(0, 12)}-`;
}

/** Removes the drafts of killed processes; a folder that one of these processes had moved aside gets its name back. */
async function removeAbandoned(path: string, prefix: string, alone: boolean): Promise<void> {
  for (const name of await readdir(dirname(path))) {
    const folder = join(dirname(path), name);
    const ours = name.startsWith(prefix) && /^[0-9a-f]{16}$/.test(name.slice(prefix.length));
    if (!ours || !statIfThere(folder)?.isDirectory()) continue;
    if (!(await isAbandoned(folder, basename(path))) && !(alone && (await isUnmarked(folder)))) continue;
    const old = join(folder, ASIDE);
    if (existsSync(old) && !statIfThere(path)) await moveDurably(old, path);
    await removeFolder(folder);
  }
}

/** Removes the marker file last, so that an interrupted removal leaves a folder that is still recognized as a draft. */
async function removeFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name !== MARK) await rm(join(folder, name), { recursive: true, force: true });
  }
  await rm(folder, { recursive: true, force: true });
}

/** Whether the process was killed before it wrote the marker file: nothing else is in the folder. */
async function isUnmarked(folder: string): Promise<boolean> {
  const mark = join(folder, MARK);
  return (await readdir(folder)).every((name) => isDraftOf(mark, name));
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
    // Without a readable marker file, the folder may belong to another program and is not removed.
    return false;
  }
}

function statIfThere(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
