import type { Sha256 } from '../core/purchase/unit-key.js';
import type { CsvRecord } from './csv/csv-record.js';
import { cellPosition } from './csv-error.js';
import type { StagedBadRow } from './stage-manifest.js';
import type { BoundUnits, RowUnit } from './unit-source.js';

export interface Staged {
  /** The line of the row in a slice, with its line feed: a `StagedRow` as JSON. */
  readonly line: string;
  readonly bad: StagedBadRow | null;
}

/** A row that was read and that has no key yet. */
export interface ReadRow {
  readonly row: number;
  /** The unchanged cells as JSON. */
  readonly cells: string;
  readonly hash: string;
  readonly found: RowUnit;
}

interface Table {
  readonly columns: readonly string[];
  readonly units: BoundUnits;
}

/** Reads the cells of a record, and the unit or the problem of the row. */
export function readRow(record: CsvRecord, row: number, table: Table, sha256: Sha256): ReadRow {
  const cells = JSON.stringify(record.cells);
  const hash = sha256(cells).slice(0, 16);
  return { row, cells, hash, found: unitOf(record, hash, table) };
}

/**
 * Returns a row in its staged form. `isNew` tells whether a key occurs for the first time. `shared`: the unit of several rows, which
 * replaces the row's own unit; null: the row keeps its own unit.
 */
export function writeRow(
  { row, cells, hash, found }: ReadRow,
  keyOf: (unit: string) => string,
  isNew: (key: string) => boolean,
  shared: string | null = null,
): Staged {
  if (found.problem === null) {
    const unit = shared ?? found.unit;
    const key = keyOf(unit);
    const again = isNew(key) ? '' : '"d":true,';
    return {
      bad: null,
      line: `{"n":${row},"h":"${hash}","k":"${key}","u":${JSON.stringify(unit)},"e":null,"m":null,${again}"i":${cells}}\n`,
    };
  }
  const { tag, message } = found.problem;
  return {
    bad: { row, tag, message },
    line: `{"n":${row},"h":"${hash}","k":null,"u":${JSON.stringify(found.unit)},"e":"${tag}","m":${JSON.stringify(message)},"i":${cells}}\n`,
  };
}

function unitOf(record: CsvRecord, hash: string, { columns, units }: Table): RowUnit {
  const { line, cells, problem } = record;
  if (problem) {
    const message = `${cellPosition(line, problem.column, columns[problem.column - 1])}: ${problem.message}`;
    return { unit: null, problem: { tag: problem.tag, message } };
  }
  if (cells.length === columns.length) return units.unitOf(record, hash);
  const column = Math.min(cells.length, columns.length) + 1;
  const message = `${cellPosition(line, column, columns[column - 1])}: the row has ${cells.length} cells, the header ${columns.length}`;
  // A row with too few or too many cells can still show its URL in the list of bad rows.
  const unit = units.unitColumn === null ? null : units.unitOf(record, hash).unit;
  return { unit, problem: { tag: 'CSV_RAGGED', message } };
}
