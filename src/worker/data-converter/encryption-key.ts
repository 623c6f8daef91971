import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, lstatSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../files/make-folder.js';
import { syncFolder, writeDurably } from '../../files/write-durably.js';
import { UsageError } from '../config/runtime-types.js';
import { KEY_BYTES, keyIdOf, otherKey } from './encryption-codec.js';

/** The file of the key that encrypts the workflows of a state folder. */
export const keyFileOf = (stateDir: string): string => join(stateDir, 'encryption-key');

/**
 * The key of a state folder; null for a folder that is not encrypted. `encrypts`: the setting; null: not set. The file `encrypted` has the id
 * of the key, so that a lost or another key is noticed.
 */
export async function keyOf(stateDir: string, encrypts: boolean | null): Promise<Buffer | null> {
  const mark = join(stateDir, 'encrypted');
  const id = existsSync(mark) ? readFileSync(mark, 'utf8').trim() : null;
  const found = readKey(stateDir);
  const path = keyFileOf(stateDir);
  if (id !== null && found === null && encrypts !== false)
    throw new UsageError(
      'encryption-key-unusable',
      `Workflows of this folder are encrypted, and their key ${path} (${id}) is missing. Restore the file. Without it, these workflows ` +
        'cannot be read; SEARCHFLOW_ENCRYPT=0 writes plain payloads from now on.',
    );
  if (id !== null && found !== null && keyIdOf(found) !== id) throw otherKey(id, path, keyIdOf(found));
  const key = found ?? (encrypts ? await makeKey(stateDir) : null);
  if (key !== null && id === null) await writeDurably(mark, `${keyIdOf(key)}\n`);
  return key;
}

/** Reads the key of a state folder; null without one. Throws `UsageError` for a file that others can read, or that has no key. */
function readKey(stateDir: string): Buffer | null {
  const path = keyFileOf(stateDir);
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return null;
  if (!stats.isFile())
    throw new UsageError('encryption-key-unusable', `${path} is not a file. Restore the file with the key.`);
  if ((stats.mode & 0o077) !== 0)
    throw new UsageError(
      'encryption-key-unusable',
      `Other users can read the key in ${path}. Run: chmod 600 '${path}'`,
    );
  const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64');
  if (key.length !== KEY_BYTES)
    throw new UsageError(
      'encryption-key-unusable',
      `${path} does not have a key of ${KEY_BYTES} bytes in Base64. Restore the file.`,
    );
  return key;
}

/** The key of a state folder, which is created if there is none. If two processes create it at once, both get the same key. */
async function makeKey(stateDir: string): Promise<Buffer> {
  const path = keyFileOf(stateDir);
  makeFolder(stateDir);
  const draft = `${path}-${randomBytes(8).toString('hex')}`;
  await writeDurably(draft, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
  try {
    // Unlike a rename, a link never replaces the key of another process.
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  await syncFolder(dirname(path));
  return readKey(stateDir) as Buffer;
}
