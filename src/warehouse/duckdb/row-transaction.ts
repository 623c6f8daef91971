import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { RowTransaction } from '../rows/row-sql.js';
import { mendSurrogates } from '../shared/mend-escapes.js';
import { withTemporaryFolder } from '../shared/temporary-folder.js';
import { withPartFiles } from './part-files.js';
import { largest, MAX_OBJECT, stagedRows, unitRecords, unpackedSize } from './read-files.js';
import { duckDbRowDialect } from './row-dialect.js';
import { sqlTransaction } from './sql-transaction.js';

/** A transaction for rows over a connection. `longest`: the longest line of a unit file that can be read, in bytes. */
export function rowTransaction(connection: DuckDBConnection, longest = MAX_OBJECT): RowTransaction {
  return {
    ...sqlTransaction(connection),
    dialect: duckDbRowDialect,
    // Transactions that write rows run one at a time, see `Warehouse.use`.
    lock: async () => undefined,
    async readRows(files, cells, work) {
      const [file] = files;
      if (file === undefined) return;
      const size = files.length === 1 ? await unpackedSize(file) : MAX_OBJECT;
      await work(stagedRows(files, cells, Math.min(MAX_OBJECT, size)));
    },
    async readUnits(files, careful, work) {
      if (files.length === 0) return false;
      const read = async (from: readonly string[]) => work(unitRecords(from, Math.min(longest, await largest(from))));
      return (careful ? withMendedFiles : withPartFiles)(files, read);
    },
  };
}

/** Runs `work` with repaired copies of files of JSON lines, and removes the copies. */
async function withMendedFiles<T>(
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
