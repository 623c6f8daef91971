import type { WarehouseSummary } from '../../core/rows/row-warehouse.js';

/** The failed rows that a command allows: a number, or a percentage of the tried rows. */
export type FailedRows = { readonly rows: number } | { readonly percent: number };

/** The number of rows that count as failed: `error` and `invalid`, except discarded ones. */
export const failedRows = ({ error, invalid, discarded = 0 }: WarehouseSummary): number => error + invalid - discarded;

/**
 * Returns the limit that `--fail-on-failed-rows` sets; adds a sentence to `mistakes` if the limit is invalid. `true`: the
 * flag has no value, so no failed row is allowed.
 */
export function readFailedRows(typed: true | string | undefined, mistakes: string[]): FailedRows | null {
  if (typed === undefined) return null;
  if (typed === true) return { rows: 0 };
  const [, number = '', percent] = /^(\d{1,9}(?:\.\d{1,6})?)(%?)$/.exec(typed) ?? [];
  const amount = Number(number);
  if (number !== '' && percent === '%' && amount <= 100) return { percent: amount };
  if (number !== '' && percent === '' && Number.isInteger(amount)) return { rows: amount };
  mistakes.push(
    `--fail-on-failed-rows: '${typed}' must be a number of rows such as 10 or a percentage such as 2%. Put the file name before this option.`,
  );
  return null;
}

/** Returns whether more rows than allowed failed. A percentage refers to the tried rows. */
export function tooManyFailed(summary: WarehouseSummary, allowed: FailedRows): boolean {
  const failed = failedRows(summary);
  const { success } = summary;
  return 'rows' in allowed ? failed > allowed.rows : 100 * failed > allowed.percent * (success + failed);
}
