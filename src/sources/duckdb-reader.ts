import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api';
import { columnTypeOf, isJson, isNested, JSON_TYPE, TEXT } from '../core/rows/column-type.js';
import { canonicalJsonText, replaceTokens } from '../core/text/exact-json.js';
import { CsvError, MAX_RECORD, nameColumns, type OpenedTable, type RowReader, type RowRecord } from '../rows/index.js';
import { columnsOf, duckDbCell, identifier, openScratchDuckDb, utcText } from '../warehouse/index.js';
import type { SourceRequest } from './source-request.js';

export interface DuckDbRows {
  /** Prepares a DuckDB of its own; returns the query of the rows, and notes for the plan. */
  prepare(connection: DuckDBConnection): Promise<{ readonly query: string; readonly notes?: readonly string[] }>;
  /** Returns the error for a person; other errors pass unchanged. */
  explain(error: unknown): unknown;
  /** Number of stored bytes; null if unknown. */
  readonly bytes: number | null;
  /** Called after the last row. Throws if the rows changed while they were read. */
  end?(): void;
}

/** Time in ms for each step of DuckDB. */
const LIMIT_MS = 600_000;

/** The folder of a request for what DuckDB spills, and for copies of files. DuckDB makes it when needed. */
export const duckDbFolder = ({ scratch }: SourceRequest): string => join(scratch, 'duckdb');

/** Waits for a step of DuckDB. The step itself goes on after the limit, until its process ends. */
export async function withLimit<T>({ limitMs = LIMIT_MS }: SourceRequest, work: Promise<T>): Promise<T> {
  const ended = new AbortController();
  const late = sleep(limitMs, undefined, { signal: ended.signal }).then(() => {
    throw new CsvError(
      'sql-too-slow',
      `The query returned no row for ${Math.round(limitMs / 1000)} s and was stopped: make it faster, for example with a WHERE; nothing was bought`,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    // A pending limit would keep the rows of its step in memory.
    ended.abort();
  }
}

/** Returns a reader of the rows of a query. DuckDB runs one thread with its usual memory and returns the rows in pieces. */
export function duckDbReader(request: SourceRequest, rows: DuckDbRows): RowReader {
  return {
    async open() {
      const scratch = await openScratchDuckDb(duckDbFolder(request));
      try {
        return { ...(await openTable(request, rows, scratch.connection)), close: async () => scratch.close() };
      } catch (error) {
        throw rows.explain(error);
      }
    },
  };
}

async function openTable(
  request: SourceRequest,
  rows: DuckDbRows,
  connection: DuckDBConnection,
): Promise<Omit<OpenedTable, 'close'>> {
  const bounded = <T>(work: Promise<T>) => withLimit(request, work);
  const { query, notes = [] } = await bounded(rows.prepare(connection));
  const found = await bounded(columnsOf(connection, query));
  const { names, renamed } = nameColumns(found.map(({ name }) => name));
  const columns = found.map(({ type }, index) => ({ name: names[index] as string, type: columnTypeOf(type) }));
  const typesAtEnd = columns.map(({ type }) => type);
  const unlike = columns.flatMap(({ type }, index) => (mayDiffer.test(type) ? [index] : []));
  const place = { word: 'row' as const };
  let line = 0;
  const recordsOf = (chunk: DuckDBDataChunk, from: number, count: number): RowRecord[] => {
    const valuesAt = (column: number) => chunk.getColumnVector(column).slice(from, count).toArray();
    for (const [nth, index] of unlike.entries())
      if (valuesAt(2 + columns.length + nth).includes(false))
        typesAtEnd[index] = isJson(columns[index]?.type ?? TEXT) ? JSON_TYPE : TEXT;
    const textAt = (row: number, column: number) => {
      const vector = chunk.getColumnVector(2 + column);
      return vector.slice(row, 1).getItem(0) as string | null;
    };
    return valuesAt(1).map((short, nth) => {
      const long = () => columns.map((_, column) => textAt(from + nth, column));
      const cells = short === null ? long() : (JSON.parse(short as string) as (string | null)[]);
      for (const [index, { type }] of columns.entries())
        if (isJson(type) && cells[index]) cells[index] = jsonText(cells[index]);
      return { line: ++line, place, cells, problem: null };
    });
  };
  return {
    ...{ columns, isTyped: true, renamed, delimiter: null, notes, typesAtEnd: () => typesAtEnd },
    async *batches() {
      try {
        const types = found.map(({ type }) => type);
        const result = await bounded(connection.stream(textQuery(query, types)));
        for (;;) {
          const chunk = await bounded(result.fetchChunk());
          if (chunk === null || chunk.rowCount === 0) break;
          const sizes = chunk.getColumnVector(0).toArray().map(Number);
          for (let from = 0; from < sizes.length; ) {
            const count = pieceOf(sizes, from, line);
            yield recordsOf(chunk, from, count);
            from += count;
          }
        }
        rows.end?.();
      } catch (error) {
        throw rows.explain(error);
      }
    },
    contentHash: () => null,
    progress: () => ({ bytes: 0, total: rows.bytes }),
  };
}

/** Most rows of a batch, and most bytes but for its last row. */
const PIECE_ROWS = 128;
const PIECE_BYTES = 4 * 1_048_576;

/** The number of rows of the next batch. Throws `CsvError` for a row above the limit. `line`: number of the last row before it. */
function pieceOf(sizes: readonly number[], from: number, line: number): number {
  let count = 0;
  for (let bytes = 0; from + count < sizes.length && count < PIECE_ROWS && bytes < PIECE_BYTES; count++) {
    const size = sizes[from + count] ?? 0;
    bytes += size;
    if (size <= MAX_RECORD) continue;
    if (count > 0) return count;
    throw new CsvError(
      'input-too-large',
      `row ${line + 1}: the row has more than ${MAX_RECORD / 1_048_576} MiB, which is the limit`,
    );
  }
  return count;
}

/** Types with values whose text is not read as the same value: large intervals, keys of maps. Their column is text or JSON. */
const mayDiffer = /^(TIMESTAMP|DATE|INTERVAL|STRUCT|MAP)|\]$/;

/** Most bytes of the texts of a row that are copied into one. */
const SHORT_BYTES = 2048;

/**
 * SQL of the rows of a query: the size of their texts in bytes; the texts of a short row as one JSON array, because DuckDB's binding is slow
 * for each text; each text of a longer row, because DuckDB needs memory for each copy; and for each column that {@link mayDiffer}, whether its
 * text is read as the same value. A row above the limit of all rows has no texts.
 */
function textQuery(query: string, types: readonly string[]): string {
  // Columns are named by their positions, because two columns of a query may have one name.
  const named = (letter: string) => types.map((_, index) => `${letter}${index}`);
  const [own, texts] = [named('c'), named('t')];
  const all = types.map((type, index) => `${canonicalText(own[index] as string, type)} AS ${texts[index]}`);
  const same = types.flatMap((original, index) => {
    const type = columnTypeOf(original);
    return mayDiffer.test(type) ? [`${duckDbCell(`t${index}`, type)} IS NOT DISTINCT FROM c${index}`] : [];
  });
  const short = `CASE WHEN size <= ${SHORT_BYTES} THEN CAST(to_json([${texts.join(', ')}]) AS VARCHAR) END`;
  const isLong = `size > ${SHORT_BYTES} AND size <= ${MAX_RECORD}`;
  // DuckDB's binding removes a byte order mark from the beginning of a text.
  const long = texts.map(
    (text) => `CASE WHEN ${isLong} THEN if(starts_with(${text}, chr(65279)), chr(65279) || ${text}, ${text}) END`,
  );
  const size = `coalesce(list_sum([${texts.map((text) => `strlen(${text})`).join(', ')}]), 0)::DOUBLE`;
  return `SELECT ${['size', short, ...long, ...same].join(', ')} FROM (SELECT *, ${size} AS size
    FROM (SELECT *, ${all.join(', ')} FROM (${query}) AS t(${own.map(identifier).join(', ')})))`;
}

/** SQL of the canonical text of a value, see `docs/tasks/sources.md`: NaN without a sign, which PostgreSQL refuses; JSON not yet canonical. */
function canonicalText(value: string, original: string): string {
  const type = columnTypeOf(original);
  if (type === 'BLOB') return `to_base64(${value})`;
  if (type === 'TIMESTAMP WITH TIME ZONE') return utcText(value);
  if (type === 'FLOAT' || type === 'DOUBLE') return `if(isnan(${value}), 'nan', CAST(${value} AS VARCHAR))`;
  return `CAST(${type !== TEXT && isNested(original) ? `to_json(${value})` : value} AS VARCHAR)`;
}

/** Numbers that are not JSON, as DuckDB writes them into JSON, and their canonical texts. */
const noNumbers = /-?\b(?:NaN|Infinity)\b/;

function jsonText(text: string): string {
  try {
    return canonicalJsonText(text);
  } catch {
    const quoted = (found: string) => `"${found.replace(/-?NaN/, 'nan').replace('Infinity', 'inf')}"`;
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
