import { withoutNul } from './mend-escapes.js';

/** Bytes to which PostgreSQL cuts a name. */
const MAX_NAME = 63;

/** A name with its suffix for PostgreSQL, cut to the limit of names. */
export function cutName(name: string, suffix: string): string {
  let text = withoutNul(name).slice(0, MAX_NAME);
  while (Buffer.byteLength(text + suffix) > MAX_NAME) text = [...text].slice(0, -1).join('');
  return text + suffix;
}
