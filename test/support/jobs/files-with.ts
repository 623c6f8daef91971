import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The files below a folder that hold a text, plain or as base64. */
export function filesWith(folder: string, text: string): string[] {
  const bytes = Buffer.from(text);
  // The part of the base64 form that does not depend on the bytes before it.
  const encoded = bytes.subarray(0, 12).toString('base64');
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => {
      const content = readFileSync(path);
      return content.includes(bytes) || content.includes(encoded);
    });
}
