import { createReadStream } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mendBytes, mendSurrogates } from '../shared/mend-escapes.js';
import { withTemporaryFolder } from '../shared/temporary-folder.js';
import { wholeLines } from '../shared/whole-lines.js';

/**
 * Bytes of one part. DuckDB reads up to 2,048 lines of a file at once, and each function of a statement copies them, some four times. So
 * lines of some kilobytes would take more memory than a warehouse has. DuckDB never reads lines of two files at once.
 */
const PART_BYTES = 2_097_152;
/** Files up to this size are read as they are. */
const SMALL_BYTES = 4_194_304;

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
        for await (const part of wholeLines(createReadStream(file, { highWaterMark: PART_BYTES }))) {
          const path = join(dir, `${parts.length}.jsonl`);
          await writeFile(path, mends ? mendBytes(part, mendSurrogates) : part, { mode: 0o600 });
          parts.push(path);
        }
    }
    return work(parts);
  });
}
