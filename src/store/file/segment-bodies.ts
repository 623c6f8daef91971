import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import type { IndexEntry } from './unit-index.js';

/**
 * Calls `each` with the verified bodies of these units, in their order on disk. `pathOf` returns the unit file of the segment with this
 * number. Returns the keys whose body is missing or damaged.
 */
export async function eachBody(
  units: readonly (readonly [key: string, entry: IndexEntry])[],
  pathOf: (segment: number) => string,
  each: (key: string, body: Buffer) => Promise<void>,
): Promise<readonly string[]> {
  const gone: string[] = [];
  const inOrder = [...units].sort(([, a], [, b]) => a.segment - b.segment || a.offset - b.offset);
  let file: FileHandle | null = null;
  let opened = -1;
  try {
    for (const [key, entry] of inOrder) {
      if (entry.segment !== opened) {
        await file?.close();
        file = await openIfThere(pathOf(entry.segment));
        opened = entry.segment;
      }
      const body = Buffer.alloc(entry.length);
      const read = file ? (await file.read(body, 0, entry.length, entry.offset)).bytesRead : 0;
      if (read === entry.length && crc32(body) === entry.crc) await each(key, body);
      else gone.push(key);
    }
  } finally {
    await file?.close();
  }
  return gone;
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  try {
    return await open(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
