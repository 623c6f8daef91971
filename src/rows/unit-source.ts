import { ROW_ID_FIELD } from '../core/rows/row-operation.js';
import { canonicalJson, type Json } from '../core/text/json.js';
import { CsvError, cellPosition, recordPosition } from './csv-error.js';
import type { RowRecord, RowUnit } from './row-reader.js';
import { findUrlColumn, type UrlColumn } from './url-column.js';
import { oddityOf, type Scheme, toUrl, urlProblem } from './url-problem.js';

/** Returns the problem of a unit; null if there is none. Throws if every row has the problem. */
export type UnitCheck = (unit: string) => string | null;

/**
 * The source of a row's unit. `url`: a column of URLs (null: the column is detected, see `findUrlColumn`). `template`: a request that is
 * rendered for each row; the unit is the rendered part as canonical JSON. `rows`: several rows share a unit, and `row` renders the data of
 * each row (null: the data is all non-empty cells).
 */
export type UnitSource =
  | {
      readonly kind: 'url';
      readonly column: string | null;
      /** The column of the job's last run. The column counts only if `column` is null. */
      readonly kept?: string | null;
      /** The scheme that is added to URLs without a scheme. Null or absent: such URLs are refused. */
      readonly defaultScheme?: Scheme | null;
      readonly check?: UnitCheck;
    }
  | { readonly kind: 'template'; readonly template: Json; readonly check?: UnitCheck }
  | { readonly kind: 'rows'; readonly row: Json | null; readonly rowsPerRun: number; readonly check?: UnitCheck };

export interface BoundUnits {
  /** The column of URLs; null where the unit comes from a template. */
  readonly unitColumn: string | null;
  /** How the column of URLs was found; null if there is no such column. */
  readonly foundBy: UrlColumn['by'] | null;
  /** Returns the unit of a record, which has as many cells as there are columns. `hash` identifies the row. */
  unitOf(record: RowRecord, hash: string): RowUnit;
  /**
   * Set if several rows share a unit. `size`: the largest number of different rows in a unit; `join`: makes one unit from the units of
   * these rows.
   */
  readonly group: { readonly size: number; join(units: readonly string[]): string } | null;
}

/**
 * Applies a source of units to the columns of a table. The first rows are used to detect a column of URLs. Throws `CsvError` if the source
 * does not fit the table.
 */
export async function bindUnits(
  source: UnitSource,
  columns: readonly string[],
  firstRows: readonly (readonly (string | null)[])[] = [],
  isRendered = false,
): Promise<BoundUnits> {
  const bound = await bind(source, columns, firstRows, isRendered);
  const { check } = source;
  if (!check) return bound;
  const checked = (found: RowUnit, record: RowRecord): RowUnit => {
    const wrong = found.problem === null ? check(found.unit) : null;
    if (wrong === null) return found;
    return { unit: found.unit, problem: { tag: 'INVALID_REQUEST', message: `${recordPosition(record)}: ${wrong}` } };
  };
  const { group } = bound;
  return {
    ...bound,
    // A row of a group is also checked alone, so that a problem of one row does not affect the other rows.
    unitOf(record, hash) {
      const found = bound.unitOf(record, hash);
      if (group === null || found.problem !== null) return checked(found, record);
      const alone = checked({ unit: group.join([found.unit]), problem: null }, record);
      return alone.problem === null ? found : { unit: found.unit, problem: alone.problem };
    },
  };
}

async function bind(
  source: UnitSource,
  columns: readonly string[],
  firstRows: readonly (readonly (string | null)[])[],
  isRendered: boolean,
): Promise<BoundUnits> {
  if (source.kind === 'url') return bindUrls(source, columns, firstRows);
  const template = templateOf(source);
  const render = template === null ? null : isRendered ? unitOfReader : await rendering(template, columns);
  if (source.kind === 'rows') return bindRows(source, columns, render);
  return { unitColumn: null, foundBy: null, group: null, unitOf: render as Render };
}

/** The template that is rendered for each row; null without one. */
export function templateOf(source: UnitSource): Json | null {
  if (source.kind === 'url') return null;
  return source.kind === 'template' ? source.template : source.row;
}

type Render = (record: RowRecord) => RowUnit;

/** A reader renders each record that has as many cells as there are columns. */
const unitOfReader: Render = ({ unit }) => unit as RowUnit;

function bindUrls(
  { column, kept = null, defaultScheme = null }: UnitSource & { kind: 'url' },
  columns: readonly string[],
  firstRows: readonly (readonly (string | null)[])[],
): BoundUnits {
  const { index, by } = findUrlColumn(columns, { wanted: column, kept, rows: firstRows });
  return {
    unitColumn: columns[index] as string,
    foundBy: by,
    group: null,
    unitOf(record) {
      const text = record.cells[index] ?? '';
      const unit = text.trim();
      const cell = () => cellPosition(record, index + 1, columns[index]);
      if (unit === '') return { unit: null, problem: { tag: 'MISSING_URL', message: `${cell()}: no URL` } };
      const url = toUrl(unit, defaultScheme);
      if (url !== null) {
        const odd = oddityOf(text, url);
        return { unit: url, problem: null, odd: odd && { ...odd, place: cell() } };
      }
      return { unit, problem: { tag: 'INVALID_URL', message: `${cell()}: ${urlProblem(unit, defaultScheme)}` } };
    },
  };
}

function bindRows(
  { rowsPerRun }: UnitSource & { kind: 'rows' },
  columns: readonly string[],
  render: Render | null,
): BoundUnits {
  return {
    unitColumn: null,
    foundBy: null,
    group: { size: rowsPerRun, join: (units) => `{"input":{"data":[${units.join(',')}]}}` },
    unitOf(record, hash) {
      const named = (made: Json): Json => ({ ...(made as { readonly [name: string]: Json }), [ROW_ID_FIELD]: hash });
      if (render !== null) {
        const found = render(record);
        if (found.problem !== null) return found;
        return { unit: canonicalJson(named(JSON.parse(found.unit) as Json)), problem: null };
      }
      const filled = columns.flatMap((name, index) =>
        record.cells[index]?.trim() ? [[name, record.cells[index]]] : [],
      );
      if (filled.length > 0) return { unit: canonicalJson(named(Object.fromEntries(filled))), problem: null };
      return {
        unit: null,
        problem: { tag: 'MISSING_VALUE', message: `${recordPosition(record)}: every cell is empty` },
      };
    },
  };
}

/** Returns a function that renders the template for a row, as canonical JSON. Throws `CsvError` for a template that does not fit the table. */
export async function rendering(template: Json, columns: readonly string[]): Promise<Render> {
  // The module is loaded here, because rows with URLs need no templates.
  const { compileTemplate, MissingValue, TemplateError } = await import('./template.js');
  const asCsvError = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw error instanceof TemplateError ? new CsvError(error.errorCode, error.message, 1) : error;
    }
  };
  const compiled = asCsvError(() => compileTemplate(template, columns));
  return (record) =>
    asCsvError(() => {
      try {
        return { unit: canonicalJson(compiled.render(record.cells)), problem: null };
      } catch (error) {
        if (!(error instanceof MissingValue)) throw error;
        const cell = cellPosition(record, columns.indexOf(error.column) + 1, error.column);
        return {
          unit: null,
          problem: { tag: 'MISSING_VALUE', message: `${cell}: the cell is empty, but the template requires it` },
        };
      }
    });
}
