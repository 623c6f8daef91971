import type { RetryHelp } from '../../core/purchase/retry-help.js';
import { printable } from '../text/printable.js';

const retryWords: Readonly<Record<RetryHelp['retry'], string>> = {
  free: 'free',
  charged: 'may be charged again',
  none: 'cannot help',
};

/** Returns whether a retry can help, with the reason. */
export const retryText = ({ retry, why }: RetryHelp): string => `${retryWords[retry]}: ${why}`;

/** Returns the unit of a row, or the cells of a row without one, in one line. The data of a forgotten row is gone. */
export function unitText(
  { unit, input }: { readonly unit: string | null; readonly input: readonly (string | null)[] },
  most: number,
): string {
  if (!unit && input.every((cell) => cell === null)) return '(no data)';
  return printable(unit ?? input.map((cell) => cell ?? '').join(', '), most);
}
