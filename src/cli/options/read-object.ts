import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Json } from '../../core/text/json.js';

/** Returns the JSON object in the file that a flag names. If the file has no object, returns null and adds a sentence to `mistakes`. */
export function readObject(
  flag: string,
  path: string,
  cwd: string,
  mistakes: string[],
): { readonly [name: string]: Json } | null {
  try {
    const value = JSON.parse(readFileSync(resolve(cwd, path), 'utf8')) as Json;
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as { readonly [name: string]: Json };
    mistakes.push(`${flag}: ${path} must contain a JSON object.`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') mistakes.push(`${flag}: file ${path} not found.`);
    else
      mistakes.push(`${flag}: ${path} ${code === undefined ? `is not JSON: ${message}` : `cannot be read (${code})`}.`);
  }
  return null;
}
