import { canonicalJson } from '../text/json.js';

/** Hex SHA-256 of a text. Passed in, because core has neither `node:` nor Web Crypto. */
export type Sha256 = (text: string) => string;

/**
 * Makes the key of one unit of work: the first 128 bits (32 hex digits) of
 * SHA-256(origin, operation, canonical options, unit).
 *
 * The unit is one URL, one rendered request or one agent row, so neither the size of a request,
 * nor the order of the rows, nor a new row changes what was bought. The origin (a base URL or
 * `sandbox`) is part of it: sandbox data never passes for real.
 */
export function unitKeys(
  sha256: Sha256,
  origin: string,
  operation: string,
  options: unknown,
): (unit: string) => string {
  const prefix = `${canonicalJson([origin, operation, options])}\n`;
  return (unit) => sha256(prefix + unit).slice(0, 32);
}
