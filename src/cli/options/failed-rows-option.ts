import type { WarehouseSummary } from '../../core/rows/sink.js';

/** Failed rows that a command allows: a number, or a share of all rows in percent. */
export type FailedRows = { readonly rows: number } | { readonly percent: number };

/** `--fail-on-failed-rows` as typed (`true`: without a value, so none is allowed); adds a sentence to `mistakes` where it is neither. */
export function readFailedRows(given: true | string | undefined, mistakes: string[]): FailedRows | null {
  if (given === undefined) return null;
  if (given === true) return { rows: 0 };
  const [, number = '', percent] = /^(\d{1,9}(?:\.\d{1,6})?)(%?)$/.exec(given) ?? [];
  const amount = Number(number);
  if (number !== '' && percent === '%' && amount <= 100) return { percent: amount };
  if (number !== '' && percent === '' && Number.isInteger(amount)) return { rows: amount };
  mistakes.push(
    `--fail-on-failed-rows: '${given}' is not a number of rows such as 10, nor a percentage from 0% to 100%. Put the file before it.`,
  );
  return null;
}

/** Whether more rows ended without a result (`error` or `invalid`) than are allowed. A share is of the rows that were tried. */
export function tooManyFailed({ success, error, invalid }: WarehouseSummary, allowed: FailedRows): boolean {
  const failed = error + invalid;
  return 'rows' in allowed ? failed > allowed.rows : 100 * failed > allowed.percent * (success + failed);
}
