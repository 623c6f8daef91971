import type { BadRow } from '../../worker/config/runtime-types.js';
import { count, some } from '../text/amounts.js';
import { printable } from '../text/printable.js';

const SHOWN = 10;

/** The first bad rows with line and column, then how many more there are. */
export function badRowLines(rows: readonly BadRow[], total: number): string[] {
  if (total === 0) return [];
  const shown = rows.slice(0, SHOWN);
  const head = `${some(total, 'bad row')}, kept in the result with what is wrong, not bought`;
  if (shown.length === 0) return [`${head}.`];
  return [
    `${head}:`,
    ...shown.map((row) => `  row ${count(row.row)}: ${printable(row.message)} [${printable(row.tag)}]`),
    ...(total > shown.length ? [`  and ${count(total - shown.length)} more`] : []),
  ];
}
