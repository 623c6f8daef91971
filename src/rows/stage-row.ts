import { DigestMap } from '../core/purchase/digest-map.js';
import { FORGOTTEN } from '../core/purchase/forgotten.js';
import type { Sha256 } from '../core/purchase/unit-key.js';
import { CsvError, cellPosition, quoted, recordPosition } from './csv-error.js';
import type { RowRecord, RowUnit } from './row-reader.js';
import type { StagedBadRow } from './stage-manifest.js';
import type { BoundUnits } from './unit-source.js';

export interface Staged {
  /** The line of the row in a slice, with its line feed: a `StagedRow` as JSON. */
  readonly line: string;
  readonly bad: StagedBadRow | null;
}

/** A row that was read and that has no key yet. */
export interface ReadRow {
  readonly row: number;
  /** The cells as JSON, unchanged. */
  readonly cells: string;
  readonly hash: string;
  readonly found: RowUnit;
}

interface Table {
  readonly columns: readonly string[];
  readonly units: BoundUnits;
  /** Null: rows are identified by their cells. */
  readonly key: RowKey | null;
}

export function readRow(record: RowRecord, row: number, table: Table, sha256: Sha256): ReadRow {
  const cells = record.json ?? JSON.stringify(record.cells);
  const hash = sha256(cells).slice(0, 16);
  if (table.key === null) return { row, cells, hash, found: unitOf(record, hash, table) };
  const { id, problem } = table.key(record, row);
  const found = unitOf(record, id, table);
  return { row, cells, hash: `${id}${hash}`, found: problem === null ? found : { unit: found.unit, problem } };
}

/** Where a row is written. */
export interface RowTarget {
  readonly keyOf: (unit: string) => string;
  /** Tells whether a key occurs for the first time. `unit`: the unit that has the key here. */
  readonly isNew: (key: string, unit: string) => boolean;
  /** Tells whether a person removed the data of the row; `key` is null for a bad row. */
  readonly isForgotten: (key: string | null, hash: string) => boolean;
}

/**
 * Returns a row in its staged form. `shared`: the unit of several rows, which replaces the row's own unit; null: the row keeps its own unit.
 * A forgotten row keeps its hashes only.
 */
export function writeRow(
  { row, cells, hash, found }: ReadRow,
  { keyOf, isNew, isForgotten }: RowTarget,
  shared: string | null = null,
): Staged {
  if (found.problem === null) {
    const unit = shared ?? found.unit;
    const key = keyOf(unit);
    const again = isNew(key, unit) ? '' : '"d":true,';
    const [text, values] = isForgotten(key, hash) ? ['', withoutValues(cells)] : [unit, cells];
    return {
      bad: null,
      line: `{"n":${row},"h":"${hash}","k":"${key}","u":${JSON.stringify(text)},"e":null,"m":null,${again}"i":${values}}\n`,
    };
  }
  const isGone = isForgotten(null, hash);
  const { tag, message } = isGone ? { tag: FORGOTTEN, message: null } : found.problem;
  const [text, values] = isGone ? [null, withoutValues(cells)] : [found.unit, cells];
  return {
    bad: { row, tag, message: message ?? '' },
    line: `{"n":${row},"h":"${hash}","k":null,"u":${JSON.stringify(text)},"e":"${tag}","m":${JSON.stringify(message)},"i":${values}}\n`,
  };
}

const withoutValues = (cells: string): string => JSON.stringify((JSON.parse(cells) as unknown[]).map(() => null));

function unitOf(record: RowRecord, hash: string, { columns, units }: Omit<Table, 'key'>): RowUnit {
  const { problem } = record;
  if (problem) {
    const { column } = problem;
    const position = column === null ? recordPosition(record) : cellPosition(record, column, columns[column - 1]);
    const message = `${position}: ${problem.message}`;
    return { unit: null, problem: { tag: problem.tag, message } };
  }
  // The cells of a rendered record are not read again.
  if (record.unit !== undefined) return units.unitOf(record, hash);
  const { cells } = record;
  if (cells.length === columns.length) return units.unitOf(record, hash);
  const column = Math.min(cells.length, columns.length) + 1;
  const message = `${cellPosition(record, column, columns[column - 1])}: the row has ${cells.length} cells, the header ${columns.length}`;
  // A row with too few or too many cells can still show its URL in the list of bad rows.
  const unit = units.unitColumn === null ? null : units.unitOf(record, hash).unit;
  return { unit, problem: { tag: 'CSV_RAGGED', message } };
}

/** The identity of a row; `problem`: why the row has no key. */
export interface RowIdentity {
  /** 16 hex digits. */
  readonly id: string;
  readonly problem: { readonly tag: string; readonly message: string } | null;
}

/**
 * Returns the identity of a row: from its key, or from its cells if the key cannot be read. Throws `CsvError` if an earlier row has the same
 * key.
 */
export type RowKey = (record: RowRecord, row: number) => RowIdentity;

/** Binds the columns of a key to a table. Throws `CsvError` for a column that the table lacks. */
export function bindKey(key: readonly string[], columns: readonly string[], sha256: Sha256): RowKey {
  const places = key.map((name) => {
    const index = columns.indexOf(name);
    if (index !== -1) return index;
    const shown = columns.slice(0, 30).map(quoted).join(', ');
    throw new CsvError(
      'key-column-unknown',
      `The key names ${quoted(name)}, which is not a column; the columns are ${shown}. Name other columns as the key (--key), or match rows by their cells (--no-key)`,
    );
  });
  /** The number of the row that has a key, by the digest of the key. */
  const rows = new DigestMap();
  return (record, row) => {
    const { cells, problem } = record;
    const ofCells = () => identityOf(['no key', key, cells], sha256);
    // The cells of such a record may be in wrong columns.
    if (problem !== null || cells.length !== columns.length) return { id: ofCells(), problem: null };
    const values = places.map((index) => cells[index] ?? '');
    const empty = values.findIndex((value) => value.trim() === '');
    if (empty !== -1) {
      const place = cellPosition(record, (places[empty] as number) + 1, key[empty]);
      const message = `${place}: the cell of the key is empty`;
      return { id: ofCells(), problem: { tag: 'MISSING_KEY', message } };
    }
    const id = identityOf([key, values], sha256);
    const first = rows.get(id);
    if (first !== undefined) {
      const shown = key.map((name, index) => `${name} = ${quoted(values[index] as string)}`).join(', ');
      throw new CsvError(
        'key-not-unique',
        `${recordPosition(record)}: rows ${first} and ${row} have the same key, ${shown}. Name the columns that identify a row (--key), or remove one of the rows`,
        record.line,
      );
    }
    rows.set(id, row);
    return { id, problem: null };
  };
}

function identityOf(parts: readonly unknown[], sha256: Sha256): string {
  return sha256(JSON.stringify(parts)).slice(0, 16);
}
