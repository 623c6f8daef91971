import type { Sha256 } from '../core/unit-key.js';
import { cellPlace } from './csv-error.js';
import type { CsvRecord } from './csv-records.js';
import type { Header } from './header.js';
import type { StagedBadRow } from './stage-manifest.js';
import { urlProblem } from './url-problem.js';

interface Problem {
  readonly tag: string;
  readonly message: string;
}

interface Staged {
  /** Line of a slice, with its line feed: a `StagedRow` as JSON. */
  readonly line: string;
  readonly bad: StagedBadRow | null;
}

/**
 * One record as a staged row. The unit is the URL without white space around it; the cells stay as they came.
 * `isNew` is told each key, and says whether it had not been told it before.
 */
export function stageRow(
  record: CsvRecord,
  row: number,
  header: Header,
  digests: { readonly keyOf: (unit: string) => string; readonly sha256: Sha256 },
  isNew: (key: string) => boolean,
): Staged {
  const cells = JSON.stringify(record.cells);
  const hash = digests.sha256(cells).slice(0, 16);
  const unit = record.problem ? '' : (record.cells[header.unitIndex] ?? '').trim();
  const problem = problemOf(record, unit, header);
  if (problem === null) {
    const key = digests.keyOf(unit);
    const again = isNew(key) ? '' : '"d":true,';
    return {
      bad: null,
      line: `{"n":${row},"h":"${hash}","k":"${key}","u":${JSON.stringify(unit)},"e":null,"m":null,${again}"i":${cells}}\n`,
    };
  }
  const { tag, message } = problem;
  const shown = unit === '' ? 'null' : JSON.stringify(unit);
  return {
    bad: { row, tag, message },
    line: `{"n":${row},"h":"${hash}","k":null,"u":${shown},"e":"${tag}","m":${JSON.stringify(message)},"i":${cells}}\n`,
  };
}

function problemOf(record: CsvRecord, unit: string, { columns, unitIndex }: Header): Problem | null {
  const { line, cells, problem } = record;
  if (problem)
    return {
      tag: problem.tag,
      message: `${cellPlace(line, problem.column, columns[problem.column - 1])}: ${problem.message}`,
    };
  if (cells.length !== columns.length) {
    const column = Math.min(cells.length, columns.length) + 1;
    const message = `${cellPlace(line, column, columns[column - 1])}: the row has ${cells.length} cells, the header ${columns.length}`;
    return { tag: 'CSV_RAGGED', message };
  }
  const place = () => cellPlace(line, unitIndex + 1, columns[unitIndex]);
  if (unit === '') return { tag: 'MISSING_URL', message: `${place()}: no URL` };
  const wrong = urlProblem(unit);
  return wrong === null ? null : { tag: 'INVALID_URL', message: `${place()}: ${wrong}` };
}
