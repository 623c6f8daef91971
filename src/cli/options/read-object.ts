import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { whyTooLarge } from '../../core/check-input.js';
import type { Json } from '../../core/text/json.js';

/** Returns the JSON object that a flag has, inline or in the file that it names. Without an object, returns null and adds a sentence to `mistakes`. */
export function readObject(
  flag: string,
  path: string,
  cwd: string,
  mistakes: string[],
): { readonly [name: string]: Json } | null {
  const isInline = path.trimStart().startsWith('{');
  const shown = isInline ? 'the inline text' : path;
  try {
    const value = JSON.parse(isInline ? path : readFileSync(resolve(cwd, path), 'utf8')) as Json;
    const large = whyTooLarge(value);
    if (large !== null) {
      mistakes.push(`${flag}: ${shown} ${large}.`);
      return null;
    }
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as { readonly [name: string]: Json };
    mistakes.push(`${flag}: ${shown} must contain a JSON object.`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') mistakes.push(`${flag}: file ${path} not found.`);
    else
      mistakes.push(
        `${flag}: ${shown} ${code === undefined ? `is not JSON: ${message}` : `cannot be read (${code})`}.`,
      );
  }
  return null;
}
