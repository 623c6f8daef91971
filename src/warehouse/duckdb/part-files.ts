import { type FileHandle, open, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mendBytes, mendSurrogates } from '../shared/mend-escapes.js';
import { withTemporaryFolder } from '../shared/temporary-folder.js';

/**
 * Bytes of one part. DuckDB reads up to 2,048 lines of a file at once, and each function of a statement copies them, some four times. So
 * lines of some kilobytes would take more memory than a warehouse has. DuckDB never reads lines of two files at once.
 */
const PART_BYTES = 2_097_152;
/** Files up to this size are read as they are. */
const SMALL_BYTES = 4_194_304;

const NEWLINE = 10;

/**
 * Runs `work` with files that together have the lines of `files`, in the same order, and removes the copies. Large files are replaced by
 * copies of their parts, which are cut between lines. With `mends`, all files are, and the lines that DuckDB cannot hold are repaired.
 */
export async function withPartFiles<T>(
  files: readonly string[],
  mends: boolean,
  work: (parts: readonly string[]) => Promise<T>,
): Promise<T> {
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  const isKept = (size = 0) => !mends && size <= SMALL_BYTES;
  if (sizes.every(isKept)) return work(files);
  return withTemporaryFolder(async (dir) => {
    const parts: string[] = [];
    for (const [index, file] of files.entries()) {
      if (isKept(sizes[index])) parts.push(file);
      else
        for await (const part of partsOf(file)) {
          const path = join(dir, `${parts.length}.jsonl`);
          await writeFile(path, mends ? mendBytes(part, mendSurrogates) : part, { mode: 0o600 });
          parts.push(path);
        }
    }
    return work(parts);
  });
}

/** The parts of a file. A part is valid until the next one is read. */
async function* partsOf(file: string): AsyncGenerator<Buffer> {
  const handle = await open(file);
  let buffer = Buffer.allocUnsafe(PART_BYTES);
  try {
    let used = 0;
    for (;;) {
      const read = await fill(handle, buffer, used);
      used += read;
      const isLast = used < buffer.length;
      const end = isLast ? used : buffer.lastIndexOf(NEWLINE) + 1;
      if (end > 0) yield buffer.subarray(0, end);
      if (isLast) return;
      // A line that is longer than the buffer is a part of its own.
      const next = end > 0 ? buffer : Buffer.allocUnsafe(buffer.length * 2);
      buffer.copy(next, 0, end, used);
      used -= end;
      buffer = next;
    }
  } finally {
    await handle.close();
  }
}

/** Reads from the file's position until the buffer is full or the file ends. Returns the number of bytes. */
async function fill(handle: FileHandle, buffer: Buffer, from: number): Promise<number> {
  let at = from;
  while (at < buffer.length) {
    const { bytesRead } = await handle.read(buffer, at, buffer.length - at, null);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return at - from;
}
