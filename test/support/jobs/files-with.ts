import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The files below a folder that contain a text, plain or in base64. */
export function filesWith(folder: string, text: string): string[] {
  const bytes = Buffer.from(text);
  // The beginning of a text in base64; it is found only where the text begins at a multiple of three bytes.
  const encoded = bytes.subarray(0, 12).toString('base64');
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => {
      const content = readFileSync(path);
      return content.includes(bytes) || content.includes(encoded);
    });
}
