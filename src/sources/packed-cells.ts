import type { DuckDBDataChunk } from '@duckdb/node-api';
import { MAX_RECORD } from '../rows/index.js';
import { identifier } from '../warehouse/index.js';

/** A text in bytes above which a cell is not copied into the packed text of its row. */
const LONG_BYTES = 4096;

/** A cell as SQL. */
export interface PackedCell {
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
export function packedQuery(cells: readonly PackedCell[], from: string): string {
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
export function unpacking(
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
