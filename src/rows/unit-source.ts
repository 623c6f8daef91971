import { canonicalJson, type Json } from '../core/json.js';
import { CsvError, cellPlace } from './csv-error.js';
import type { CsvRecord } from './csv-records.js';
import { findUrlColumn } from './header.js';
import { compileTemplate, MissingValue, TemplateError } from './template.js';
import { urlProblem } from './url-problem.js';

/**
 * Where the unit of a row comes from: a column of URLs (null: the only one named so, see `urlColumnNames`), or a template of
 * a request, whose unit is the rendered request as canonical JSON.
 */
export type UnitSource =
  | { readonly kind: 'url'; readonly column: string | null }
  | { readonly kind: 'template'; readonly template: Json };

/** The unit of one row, or why it has none. `unit` of a bad row is what was there, where anything was. */
export type RowUnit =
  | { readonly unit: string; readonly problem: null }
  | { readonly unit: string | null; readonly problem: { readonly tag: string; readonly message: string } };

export interface BoundUnits {
  /** The column of URLs; null where the unit comes from a template. */
  readonly unitColumn: string | null;
  /** Of a record with as many cells as there are columns. */
  unitOf(record: CsvRecord): RowUnit;
}

/** Ties a source of units to the columns of a table. Throws `CsvError` where it doesn't fit them. */
export function bindUnits(source: UnitSource, columns: readonly string[]): BoundUnits {
  return source.kind === 'url' ? bindUrls(source.column, columns) : bindTemplate(source.template, columns);
}

function bindUrls(column: string | null, columns: readonly string[]): BoundUnits {
  const index = findUrlColumn(columns, column);
  return {
    unitColumn: columns[index] as string,
    unitOf({ cells, line }) {
      const unit = (cells[index] ?? '').trim();
      const place = () => cellPlace(line, index + 1, columns[index]);
      if (unit === '') return { unit: null, problem: { tag: 'MISSING_URL', message: `${place()}: no URL` } };
      const wrong = urlProblem(unit);
      if (wrong === null) return { unit, problem: null };
      return { unit, problem: { tag: 'INVALID_URL', message: `${place()}: ${wrong}` } };
    },
  };
}

function bindTemplate(template: Json, columns: readonly string[]): BoundUnits {
  const compiled = asCsvError(() => compileTemplate(template, columns));
  return {
    unitColumn: null,
    unitOf: ({ cells, line }) =>
      asCsvError(() => {
        try {
          return { unit: canonicalJson(compiled.render(cells)), problem: null };
        } catch (error) {
          if (!(error instanceof MissingValue)) throw error;
          const place = cellPlace(line, columns.indexOf(error.column) + 1, error.column);
          return {
            unit: null,
            problem: { tag: 'MISSING_VALUE', message: `${place}: empty, and the template needs it` },
          };
        }
      }),
  };
}

function asCsvError<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof TemplateError ? new CsvError(error.message) : error;
  }
}
