import type { Sha256 } from '../core/unit-key.js';
import { cellPlace } from './csv-error.js';
import type { CsvRecord } from './csv-records.js';
import type { StagedBadRow } from './stage-manifest.js';
import type { BoundUnits, RowUnit } from './unit-source.js';

interface Staged {
  /** Line of a slice, with its line feed: a `StagedRow` as JSON. */
  readonly line: string;
  readonly bad: StagedBadRow | null;
}

/**
 * One record as a staged row; the cells stay as they came.
 * `isNew` is told each key, and says whether it had not been told it before.
 */
export function stageRow(
  record: CsvRecord,
  row: number,
  table: { readonly columns: readonly string[]; readonly units: BoundUnits },
  digests: { readonly keyOf: (unit: string) => string; readonly sha256: Sha256 },
  isNew: (key: string) => boolean,
): Staged {
  const cells = JSON.stringify(record.cells);
  const hash = digests.sha256(cells).slice(0, 16);
  const { unit, problem } = unitOf(record, table);
  if (problem === null) {
    const key = digests.keyOf(unit);
    const again = isNew(key) ? '' : '"d":true,';
    return {
      bad: null,
      line: `{"n":${row},"h":"${hash}","k":"${key}","u":${JSON.stringify(unit)},"e":null,"m":null,${again}"i":${cells}}\n`,
    };
  }
  const { tag, message } = problem;
  return {
    bad: { row, tag, message },
    line: `{"n":${row},"h":"${hash}","k":null,"u":${JSON.stringify(unit)},"e":"${tag}","m":${JSON.stringify(message)},"i":${cells}}\n`,
  };
}

function unitOf(record: CsvRecord, { columns, units }: { columns: readonly string[]; units: BoundUnits }): RowUnit {
  const { line, cells, problem } = record;
  if (problem) {
    const message = `${cellPlace(line, problem.column, columns[problem.column - 1])}: ${problem.message}`;
    return { unit: null, problem: { tag: problem.tag, message } };
  }
  if (cells.length === columns.length) return units.unitOf(record);
  const column = Math.min(cells.length, columns.length) + 1;
  const message = `${cellPlace(line, column, columns[column - 1])}: the row has ${cells.length} cells, the header ${columns.length}`;
  return { unit: units.unitOf(record).unit, problem: { tag: 'CSV_RAGGED', message } };
}
