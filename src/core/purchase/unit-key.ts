import { canonicalJson } from '../text/json.js';

/** Computes the hex SHA-256 of a text. The function is passed as a parameter, because core has neither `node:` modules nor Web Crypto. */
export type Sha256 = (text: string) => string;

/**
 * Returns the key function of units: the first 128 bits (32 hex digits) of SHA-256(origin, operation, canonical options, unit).
 *
 * A unit is one URL, one rendered request or one agent row, so neither the size of a request, nor the order of rows, nor a new row changes
 * the key of a unit. The key covers the origin (a base URL or `sandbox`), so that sandbox answers never count as real ones.
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
