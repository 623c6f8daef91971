import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { TEXT } from '../core/rows/column-type.js';
import { CsvError } from './csv-error.js';
import { TextDecoding } from './decode.js';
import type { CsvRecord } from './header.js';
import { otherColumns, readHeader, whyOtherColumns } from './header.js';
import type { OpenedTable, RowReader, RowRecord } from './row-reader.js';
import { openSource, type RowSource } from './source.js';

export interface CsvReaderOptions {
  readonly source: RowSource;
  /** One character, or `\t` in two characters. Null: the most frequent of `, ; tab |` in the first line. */
  readonly delimiter: string | null;
  /** Encoding of an input without a byte order mark, a label such as `windows-1252`. Absent: UTF-8. */
  readonly encoding?: string | undefined;
}

export function csvReader(options: CsvReaderOptions): RowReader {
  const delimiter = checkDelimiter(options.delimiter);
  return {
    async open(signal) {
      const source = await openSource(options.source, signal);
      try {
        const records = recordsOf(options, delimiter, source.chunks(), signal);
        const first = await records.next();
        if (first.done) throw new CsvError('input-empty', 'The input is empty: it has no header and no rows', 1);
        const [header, ...rest] = first.value.records as [CsvRecord, ...CsvRecord[]];
        const { names, renamed } = readHeader(header);
        return {
          columns: names.map((name) => ({ name, type: TEXT })),
          isTyped: false,
          renamed,
          delimiter: first.value.delimiter,
          bom: first.value.bom,
          notes: [],
          batches: async function* () {
            yield rest;
            for await (const { records: next } of records) yield next;
          },
          contentHash: () => source.contentHash(),
          progress: () => source.progress(),
          close: () => source.close(),
        };
      } catch (error) {
        await source.close();
        throw error;
      }
    },
  };
}

/** Records of a piece of the text, and what the beginning of the text says. */
interface CsvPiece {
  readonly records: readonly CsvRecord[];
  readonly delimiter: string;
  readonly bom: boolean;
}

/** The records of each piece of the text; the first piece has at least the header. */
async function* recordsOf(
  { source, encoding }: CsvReaderOptions,
  delimiter: string | null,
  chunks: AsyncIterable<Buffer>,
  signal: AbortSignal | undefined,
): AsyncGenerator<CsvPiece> {
  const decoding = new TextDecoding(encoding, typeof source === 'string' ? source : undefined);
  // The parser is loaded only where rows are staged.
  const { CsvRecords } = await import('./csv-records.js');
  const reading = new CsvRecords(delimiter);
  let isBegun = false;
  function* piecesOf(text: string, last: boolean) {
    for (let next = text; ; next = '') {
      const records = reading.read(next, last);
      isBegun ||= records.length > 0;
      if (isBegun) yield { records, delimiter: reading.delimiter as string, bom: decoding.hasMark };
      if (!reading.isBehind) return;
    }
  }
  for await (const chunk of chunks) {
    signal?.throwIfAborted();
    yield* piecesOf(decoding.decode(chunk, false), false);
  }
  yield* piecesOf(decoding.decode(Buffer.alloc(0), true), true);
}

function checkDelimiter(delimiter: string | null): string | null {
  const one = delimiter === '\\t' ? '\t' : delimiter;
  if (one === null || (one.length === 1 && !/["\r\n\0]/.test(one))) return one;
  throw new CsvError(
    'invalid-argument',
    `The delimiter must be one character other than a quote or line break, not ${JSON.stringify(delimiter)}`,
  );
}

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
