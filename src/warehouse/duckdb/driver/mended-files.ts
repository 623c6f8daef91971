import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { mendSurrogates } from '../../shared/mend-escapes.js';
import { withTemporaryFolder } from '../../shared/temporary-folder.js';

/** Runs `work` with repaired copies of files of JSON lines, and removes the copies. */
export async function withMendedFiles<T>(
  files: readonly string[],
  work: (copies: readonly string[]) => Promise<T>,
): Promise<T> {
  return withTemporaryFolder(async (dir) => {
    const copies = files.map((_, index) => join(dir, `${index}.jsonl`));
    for (const [index, file] of files.entries()) {
      await pipeline(
        createReadStream(file, 'utf8'),
        mended,
        createWriteStream(copies[index] as string, { mode: 0o600 }),
      );
    }
    return work(copies);
  });
}

async function* mended(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of chunks) {
    const text = rest + chunk;
    // Only whole lines are repaired, so that no escape is split.
    const end = text.lastIndexOf('\n') + 1;
    rest = text.slice(end);
    yield mendSurrogates(text.slice(0, end));
  }
  yield mendSurrogates(rest);
}
