import { randomBytes } from 'node:crypto';
import { linkSync, lstatSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../files/make-folder.js';
import { syncFolder, writeDurably } from '../../files/write-durably.js';
import { UsageError } from '../config/runtime-types.js';
import { KEY_BYTES } from './encryption-codec.js';

/** The file of the key that encrypts the workflows of a state folder. */
export const keyFileOf = (stateDir: string): string => join(stateDir, 'encryption-key');

/** Reads the key of a state folder; null without one. Throws `UsageError` for a file that others can read, or that has no key. */
export function readKey(stateDir: string): Buffer | null {
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
export async function makeKey(stateDir: string): Promise<Buffer> {
  const known = readKey(stateDir);
  if (known !== null) return known;
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
