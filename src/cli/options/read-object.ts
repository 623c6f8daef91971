import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Json } from '../../core/text/json.js';

/** The JSON object in a file that a flag names; adds a sentence to `mistakes` and answers null where there is none. */
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
    mistakes.push(`${flag}: ${path} holds no JSON object.`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') mistakes.push(`${flag}: there is no file ${path}.`);
    else
      mistakes.push(`${flag}: ${path} ${code === undefined ? `is not JSON: ${message}` : `can't be read (${code})`}.`);
  }
  return null;
}
