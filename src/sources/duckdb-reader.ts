import type { DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api';
import { columnTypeOf, isJson, isNested, JSON_TYPE, TEXT } from '../core/rows/column-type.js';
import { canonicalJsonText, replaceTokens } from '../core/text/exact-json.js';
import { CsvError, MAX_RECORD, nameColumns, type OpenedTable, type RowReader, type RowRecord } from '../rows/index.js';
import { duckDbCell, identifier, openScratchDuckDb, utcText } from '../warehouse/index.js';
import { withLimit } from './with-limit.js';

/** Rows that DuckDB reads. */
export interface DuckDbRows {
  /** Folder for data that does not fit into memory; it is made when needed. */
  readonly temporary: string;
  /** Time in ms for each step of DuckDB. */
  readonly limitMs: number;
  /** Prepares a DuckDB of its own; returns the query of the rows. */
  prepare(connection: DuckDBConnection): Promise<string>;
  /** Returns the error for a person; other errors pass unchanged. */
  explain(error: unknown): unknown;
  /** Number of stored bytes; null if unknown. */
  readonly bytes: number | null;
  notes(): readonly string[];
  /** Called after the last row. Throws if the rows changed while they were read. */
  end?(): Promise<void>;
}

/**
 * Most rows of a batch, and most characters but for its last row. The texts of few rows become garbage before V8 keeps them for long, which
 * halves the peak of memory.
 */
const PIECE_ROWS = 128;
const PIECE_CHARS = 4 * 1_048_576;

/** Returns a reader of the rows of a query. DuckDB runs one thread with its usual memory and returns the rows in pieces. */
export function duckDbReader(rows: DuckDbRows): RowReader {
  return {
    async open() {
      const scratch = await openScratchDuckDb(rows.temporary);
      try {
        return await openTable(rows, scratch.connection, async () => scratch.close());
      } catch (error) {
        throw rows.explain(error);
      }
    },
  };
}

async function openTable(
  rows: DuckDbRows,
  connection: DuckDBConnection,
  close: () => Promise<void>,
): Promise<OpenedTable> {
  const { limitMs, explain } = rows;
  const bounded = <T>(work: Promise<T>) => withLimit(work, limitMs);
  const query = await bounded(rows.prepare(connection));
  const described = (await bounded(connection.runAndReadAll(`DESCRIBE ${query}`))).getRowsJson();
  const found = described.map((row) => ({ name: String(row[0]), type: String(row[1]) }));
  const { names, renamed } = nameColumns(found.map(({ name }) => name));
  const columns = found.map(({ type }, index) => ({ name: names[index] as string, type: columnTypeOf(type) }));
  // Columns are named by their positions, because two columns of a query may have one name.
  const own = columns.map((_, index) => identifier(`c${index}`));
  const texts = columns.map(({ type }, index) => {
    const text = canonicalText(own[index] as string, type, found[index]?.type ?? TEXT);
    const back = mayDiffer.test(type) ? `${duckDbCell(text, type)} IS NOT DISTINCT FROM ${own[index]}` : null;
    return { text, back, mayBeLong: type === TEXT || type === 'BLOB' || isJson(type) };
  });
  const typesAtEnd = columns.map(({ type }) => type);
  const cellsAt = unpacking(texts, (index) => {
    typesAtEnd[index] = isJson(columns[index]?.type ?? TEXT) ? JSON_TYPE : TEXT;
  });
  const place = { word: 'row' as const };
  let line = 0;
  return {
    ...{ columns, isTyped: true, renamed, delimiter: null, notes: rows.notes(), typesAtEnd: () => typesAtEnd },
    async *batches() {
      try {
        const result = await bounded(connection.stream(packedQuery(texts, `(${query}) AS t(${own.join(', ')})`)));
        for (;;) {
          const chunk = await bounded(result.fetchChunk());
          if (chunk === null || chunk.rowCount === 0) break;
          for (let from = 0; from < chunk.rowCount; ) {
            const piece: RowRecord[] = [];
            for (let size = 0; from < chunk.rowCount && piece.length < PIECE_ROWS && size < PIECE_CHARS; from++) {
              const cells = cellsAt(chunk, from);
              line++;
              if (cells === null)
                throw new CsvError(
                  'input-too-large',
                  `row ${line}: the row has more than ${MAX_RECORD / 1_048_576} MiB, which is the limit`,
                );
              for (const [column, { type }] of columns.entries())
                if (isJson(type) && cells[column] != null) cells[column] = jsonText(cells[column]);
              size += cells.reduce((sum, cell) => sum + (cell?.length ?? 0), 0);
              piece.push({ line, place, cells, problem: null });
            }
            yield piece;
          }
        }
        await rows.end?.();
      } catch (error) {
        throw explain(error);
      }
    },
    contentHash: () => null,
    progress: () => ({ bytes: 0, total: rows.bytes }),
    close,
  };
}

/** SQL of the canonical text of a value, see `docs/tasks/sources.md`. JSON gets its canonical form afterwards. */
function canonicalText(value: string, type: string, original: string): string {
  if (type === 'BLOB') return `to_base64(${value})`;
  if (type === 'TIMESTAMP WITH TIME ZONE') return utcText(value);
  return `CAST(${type !== TEXT && isNested(original) ? `to_json(${value})` : value} AS VARCHAR)`;
}

/** Types with values whose text is not read as the same value: large intervals, keys of maps. Their column is text or JSON. */
const mayDiffer = /^(TIMESTAMP|DATE|INTERVAL|STRUCT|MAP)|\]$/;

/** Numbers that are not JSON, as DuckDB writes them into JSON, and their canonical texts. */
const noNumbers = /-?\b(?:NaN|Infinity)\b/;

function jsonText(text: string): string {
  try {
    return canonicalJsonText(text);
  } catch {
    const quoted = (found: string) => `"${found.replace('NaN', 'nan').replace('Infinity', 'inf')}"`;
    return canonicalJsonText(replaceTokens(text, noNumbers, quoted));
  }
}

/** The first line of DuckDB's message, without the kind of the error. */
export function firstLine(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1);
  return line.replace(/^[A-Z][\w ]+ Error: /, '').slice(0, 300);
}

/** Errors of the disk and of the memory, which concern no row. */
export function resourceError(error: unknown): Error | null {
  const message = error instanceof Error ? error.message : String(error);
  // The caller of the reader knows the folder.
  if (/No space left|ENOSPC|disk quota|EDQUOT|failed to offload|max_temp_directory_size/i.test(message))
    return Object.assign(new Error('The disk is full'), { code: 'ENOSPC' });
  if (/Out of Memory Error/.test(message))
    return new CsvError(
      'source-out-of-memory',
      'The rows need more memory than DuckDB has here: select fewer or smaller columns, or sort less; nothing was bought',
    );
  return null;
}

/** A text in bytes above which a cell is not copied into the packed text of its row. */
const LONG_BYTES = 4096;

/** A cell as SQL. */
interface PackedCell {
  /** SQL of its text. */
  readonly text: string;
  /** Whether its text may be long. */
  readonly mayBeLong: boolean;
  /** Condition: the text is read as the same value; null: it always is. */
  readonly back: string | null;
}

/**
 * SQL of rows whose cells are packed into one text, with their sizes in bytes before it: `3,n,l!:abc`. `n` is NULL, and `l` a long text, which
 * has a column of its own; `!`: the text is read as another value. A row above the limit of all rows is NULL. DuckDB's binding makes a
 * buffer for each text that is read, which took a third of the memory of staging.
 */
function packedQuery(cells: readonly PackedCell[], from: string): string {
  const names = cells.map((_, index) => identifier(`t${index}`));
  const backs = cells.map((_, index) => identifier(`b${index}`));
  const longAt = (index: number) => (cells[index]?.mayBeLong ? `strlen(${names[index]}) > ${LONG_BYTES}` : 'false');
  const sizes = names.map(
    (name, index) =>
      `CASE WHEN ${name} IS NULL THEN 'n' WHEN ${longAt(index)} THEN 'l' ELSE strlen(${name})::VARCHAR END${cells[index]?.back == null ? '' : ` || CASE WHEN ${backs[index]} THEN '' ELSE '!' END`}`,
  );
  const texts = names.map((name, index) => `CASE WHEN NOT ${longAt(index)} THEN ${name} END`);
  const longs = names.flatMap((name, index) =>
    cells[index]?.mayBeLong ? [`CASE WHEN fits AND ${longAt(index)} THEN ${name} END`] : [],
  );
  const long = names.filter((_, index) => cells[index]?.mayBeLong);
  const fits =
    long.length === 0 ? 'true' : `${long.map((name) => `coalesce(strlen(${name}), 0)`).join(' + ')} <= ${MAX_RECORD}`;
  const packed = `concat(concat_ws(',', ${sizes.join(', ')}), ':', ${texts.join(', ')})`;
  return `SELECT ${[`CASE WHEN fits THEN ${packed} END`, ...longs].join(', ')}
    FROM (SELECT *, ${fits} AS fits FROM (SELECT ${cells.map(({ text, back }) => `${text}, ${back ?? true}`).join(', ')} FROM ${from}) AS s(${names.map((name, index) => `${name}, ${backs[index]}`).join(', ')}))`;
}

/**
 * Returns a function that reads the cells of a row of a chunk of {@link packedQuery}; null for a row above the limit. `onOther`: called for each
 * cell whose text is read as another value.
 */
function unpacking(
  cells: readonly PackedCell[],
  onOther: (index: number) => void,
): (chunk: DuckDBDataChunk, row: number) => (string | null)[] | null {
  let longs = 0;
  const columns = cells.map(({ mayBeLong }) => (mayBeLong ? ++longs : 0));
  return (chunk, row) => {
    const packed = textAt(chunk, 0, row);
    if (packed === null) return null;
    const start = packed.indexOf(':') + 1;
    const marked = packed.slice(0, start - 1).split(',');
    const sizes = marked.map((size, index) => {
      if (!size.endsWith('!')) return size;
      onOther(index);
      return size.slice(0, -1);
    });
    const total = sizes.reduce((sum, size) => sum + (Number(size) || 0), 0);
    // Each character of the text is a byte, or the text has characters of several bytes.
    const bytes = packed.length - start === total ? null : Buffer.from(packed.slice(start));
    let at = bytes === null ? start : 0;
    return sizes.map((size, index) => {
      if (size === 'n') return null;
      if (size === 'l') return textAt(chunk, columns[index] ?? 0, row);
      const end = at + Number(size);
      const text = bytes === null ? packed.slice(at, end) : bytes.toString('utf8', at, end);
      at = end;
      return text;
    });
  };
}

function textAt(chunk: DuckDBDataChunk, column: number, row: number): string | null {
  // A slice has a cache of its own, which does not outlive the call.
  return chunk.getColumnVector(column).slice(row, 1).getItem(0) as string | null;
}
