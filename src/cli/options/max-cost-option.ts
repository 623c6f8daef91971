import type { MaxCost } from '../../core/rows/job.js';
import { parseDollars, toDollars } from '../../core/text/money.js';

/** `--max-cost` as typed; adds a sentence to `mistakes` where it is no amount. Undefined where it was not given. */
export function readMaxCost(text: string | undefined, mistakes: string[]): MaxCost | undefined {
  if (text === undefined || text === 'none') return text;
  const micros = parseDollars(text);
  if (micros !== null) return toDollars(micros);
  mistakes.push(`--max-cost: '${text}' is not an amount of dollars such as 5 or 0.50, nor none.`);
  return undefined;
}
