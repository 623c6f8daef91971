import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Absolute path of a file in the clone. */
export const inRoot = (...parts) => join(root, ...parts);

/** Hex SHA-256 over the names and contents of files, in this order. */
export function hashFiles(files) {
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(`${file.slice(root.length)}\n`)
      .update(readFileSync(file))
      .update('\n');
  return hash.digest('hex');
}

/** The text of a file, or `null` if there is none. */
export function textOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}
