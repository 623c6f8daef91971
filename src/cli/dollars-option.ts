import { toMicros } from '../core/money.js';

/** `20`, `1.00` or `0.0005` dollars, with or without `$`, in whole micro-dollars; null for what is no amount. */
export function parseDollars(text: string): number | null {
  const match = /^\$?(\d{1,9}(\.\d{1,6})?)$/.exec(text.trim());
  return match ? toMicros(Number(match[1])) : null;
}
