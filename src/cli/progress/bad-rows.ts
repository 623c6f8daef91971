import type { BadRow } from '../../worker/config/runtime-types.js';
import { count, some } from '../text/amounts.js';
import { printable } from '../text/printable.js';

const SHOWN = 10;

/** Returns lines about the first bad rows, and about the number of further bad rows. */
export function badRowLines(rows: readonly BadRow[], total: number): string[] {
  if (total === 0) return [];
  const shown = rows.slice(0, SHOWN);
  const head = `${some(total, 'bad row')}, loaded with the reason and not bought`;
  if (shown.length === 0) return [`${head}.`];
  return [
    `${head}:`,
    ...shown.map((row) => `  row ${count(row.row)}: ${printable(row.message)} [${printable(row.tag)}]`),
    ...(total > shown.length ? [`  and ${count(total - shown.length)} more`] : []),
  ];
}
