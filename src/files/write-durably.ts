import { createHash, randomBytes } from 'node:crypto';
import { closeSync, createWriteStream, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { finished } from 'node:stream/promises';

/**
 * Writes a file whole or not at all: writes a draft beside the file, syncs and renames the draft, and syncs the folder. The draft has a
 * random name and is created exclusively, so that no other file is ever overwritten. `mode` defaults to 0600.
 */
export async function writeDurably(
  path: string,
  content: string | Uint8Array,
  { mode = 0o600 }: { readonly mode?: number } = {},
): Promise<void> {
  const draft = draftOf(path);
  const file = await open(draft, 'wx', mode);
  try {
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw withPath(error, path);
  }
  await syncFolder(dirname(path));
}

/**
 * Adds the path to a system error without a path, such as the error of a write to an open file (`ENOSPC: no space left on device, write`).
 * Returns the same error.
 */
export function withPath(error: unknown, path: string): unknown {
  const { code, path: known } = (error ?? {}) as NodeJS.ErrnoException;
  if (!(error instanceof Error) || typeof code !== 'string' || known !== undefined) return error;
  error.message = `${error.message} '${path}'`;
  return Object.assign(error, { path });
}

/** Writes a file like `writeFileSync`, but errors have the path and `mode` defaults to 0600. */
export function writeNamed(
  path: string,
  content: string,
  { flag = 'w', mode = 0o600 }: { readonly flag?: 'w' | 'wx' | 'a'; readonly mode?: number } = {},
): void {
  try {
    writeFileSync(path, content, { flag, mode });
  } catch (error) {
    throw withPath(error, path);
  }
}

/** Replaces a file in one step before it returns; a power cut may lose the change. The caller must exclude other writers of the path. */
export function replaceNow(path: string, content: string): void {
  writeNamed(`${path}.draft`, content);
  renameSync(`${path}.draft`, path);
}

/**
 * Writes a file piece by piece (mode 0600, not synced); replaces an existing file. `produce` gets a function that writes a piece and
 * resolves when the next piece may follow. Rejects with the error of `produce` or of the system, with the path.
 */
export async function writePieces(
  path: string,
  produce: (write: (piece: string | Uint8Array) => Promise<void>) => Promise<void>,
): Promise<void> {
  const out = createWriteStream(path, { mode: 0o600 });
  const done = finished(out);
  done.catch(() => undefined);
  try {
    await produce(async (piece) => {
      if (!out.write(piece)) await Promise.race([new Promise<void>((resolve) => out.once('drain', resolve)), done]);
    });
    out.end();
    await done;
  } catch (error) {
    out.destroy();
    throw withPath(error, path);
  }
}

/** Renames a finished file or folder within its file system, durably. Replaces an existing file, or an empty folder. */
export async function moveDurably(from: string, to: string): Promise<void> {
  await ((await stat(from)).isDirectory() ? syncFolder(from) : sync(from));
  await rename(from, to);
  await syncFolder(dirname(to));
}

/** A temporary name for the old folder, next to the draft, while the draft replaces the folder. */
export const ASIDE = 'aside';

/**
 * Exchanges the names of a finished folder and an existing folder, durably. The exchange is one step if the file system can exchange
 * names; otherwise the existing folder is moved aside for a moment (see {@link ASIDE}).
 */
export async function swapFolders(from: string, to: string): Promise<void> {
  await syncFolder(from);
  // The package has no types.
  const { swap } = createRequire(import.meta.url)('fs-native-extensions') as { swap: typeof moveAside };
  try {
    await swap(from, to);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EINVAL', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'].includes(code)) throw error;
    await moveAside(from, to);
  }
  await syncFolder(dirname(to));
}

async function moveAside(from: string, to: string): Promise<void> {
  const aside = join(dirname(from), ASIDE);
  await rename(to, aside);
  try {
    await rename(from, to);
  } catch (error) {
    await rename(aside, to);
    throw error;
  }
  await rename(aside, from);
}

/** Makes renames in a folder durable, if the system can: Windows cannot open folders, and some file systems cannot sync folders. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  try {
    await sync(folder);
  } catch (error) {
    if (!cannotSync(error)) throw error;
  }
}

/** {@link syncFolder} without a promise, for callers that make folders. */
export function syncFolderNow(folder: string): void {
  if (process.platform === 'win32') return;
  try {
    const fd = openSync(folder, 'r');
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (!cannotSync(error)) throw error;
  }
}

const cannotSync = (error: unknown): boolean =>
  ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');

/** Removes drafts that killed processes left beside this path. The caller must exclude other writers of the path. */
export async function removeDrafts(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder)) if (isDraftOf(path, name)) await rm(join(folder, name), { force: true });
}

/** Whether a file of this name, beside the path, is a draft of the path. */
export function isDraftOf(path: string, name: string): boolean {
  return name.startsWith(draftPrefix(path)) && name.endsWith('.draft');
}

/** A new path for a draft, beside the file that the draft replaces. */
export function draftOf(path: string): string {
  return join(dirname(path), `${draftPrefix(path)}${randomBytes(8).toString('hex')}.draft`);
}

/** Prefix of the drafts of a file: a hash, because the file's own name may be too long. */
function draftPrefix(path: string): string {
  return `.searchflow-${createHash('sha256').update(basename(path)).digest('hex').slice(0, 12)}-`;
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, process.platform === 'win32' ? 'r+' : 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
