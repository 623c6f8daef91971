import { toDollars } from './money.js';

/** Fields with names and values that others chose, such as names of columns. */
const foreign = ['input', 'metadata', 'misfits', 'monitor', 'tags'];

/** Whether a field has a time in Unix ms, or a list of times. */
export const isTime = (name: string): boolean =>
  /^(at|since|until|from|to|latest|next|upTo|watermark)$|(At|Since|Until)$/.test(name);

/** The name of the field in dollars, for the name of an amount in micro-dollars; null for another name. */
export const dollarsName = (name: string): string | null =>
  /(^m|M)icros$/.test(name) ? name.replace('Micros', 'Dollars').replace('micros', 'dollars') : null;

/** Returns a result as `--json` prints it: each amount is also in dollars, exact to six decimals, and times are in ISO 8601. */
export function printed(value: unknown, name = ''): unknown {
  if (foreign.includes(name)) return value;
  if (Array.isArray(value)) return value.map((one) => printed(one, name));
  if (typeof value === 'number' && isTime(name)) return new Date(value).toISOString();
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).flatMap(([field, one]) => {
    const inDollars = dollarsName(field);
    const amount = typeof one === 'number' ? toDollars(one) : one;
    return [[field, printed(one, field)], ...(inDollars === null ? [] : [[inDollars, amount]])];
  });
  return Object.fromEntries(fields);
}
