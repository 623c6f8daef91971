import type { MaxCost } from '../../core/rows/job.js';
import { parseDollars, toDollars } from '../../core/text/money.js';

/** Returns the value of `--max-cost`, or undefined without the flag; adds a sentence to `mistakes` if the value is invalid. */
export function readMaxCost(text: string | undefined, mistakes: string[]): MaxCost | undefined {
  if (text === undefined || text === 'none') return text;
  const micros = parseDollars(text);
  if (micros !== null) return toDollars(micros);
  mistakes.push(`--max-cost: '${text}' must be an amount in dollars such as 5 or 0.50, or none.`);
  return undefined;
}
