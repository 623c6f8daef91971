import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { CsvError } from '../csv-error.js';
import { otherColumns, whyOtherColumns } from '../header.js';
import type { OpenedTable, RowReader, RowRecord } from '../row-reader.js';
import { type CsvReaderOptions, csvReader } from './csv-reader.js';

/** Returns a reader of CSV files as one table, in this order. All files have the same columns. */
export function csvFilesReader(files: readonly string[], options: Omit<CsvReaderOptions, 'source'>): RowReader {
  const [first, ...others] = files;
  if (first === undefined) throw new CsvError('input-missing', 'There are no files');
  const readerOf = (file: string) => csvReader({ ...options, source: file });
  if (others.length === 0) return readerOf(first);
  return {
    async open(signal) {
      const table = await readerOf(first).open(signal);
      const names = table.columns.map(({ name }) => name);
      const hashes: string[] = [];
      let opened: OpenedTable | null = table;
      try {
        // All headers are checked before a row is staged.
        for (const file of others)
          await openLike(file, readerOf(file), first, names, signal).then((one) => one.close());
      } catch (error) {
        await table.close();
        throw error;
      }
      return {
        ...table,
        async *batches() {
          for (const file of files) {
            const place = { word: 'line' as const, file: basename(file) };
            opened ??= await openLike(file, readerOf(file), first, names, signal);
            for await (const batch of opened.batches()) yield batch.map((record): RowRecord => ({ ...record, place }));
            hashes.push(opened.contentHash() ?? '');
            await opened.close();
            opened = null;
          }
        },
        contentHash: () => createHash('sha256').update(JSON.stringify(hashes)).digest('hex'),
        progress: () => opened?.progress() ?? { bytes: 0, total: null },
        close: async () => opened?.close(),
      };
    },
  };
}

async function openLike(
  file: string,
  reader: RowReader,
  first: string,
  names: readonly string[],
  signal: AbortSignal | undefined,
): Promise<OpenedTable> {
  const table = await reader.open(signal).catch((error: unknown) => {
    throw error instanceof CsvError && error.line !== null
      ? new CsvError(error.errorCode, `${file}: ${error.message}`)
      : error;
  });
  const why = whyOtherColumns(
    names,
    table.columns.map(({ name }) => name),
  );
  if (why === null) return table;
  await table.close();
  throw otherColumns(file, first, why);
}
