/** Bytes to which PostgreSQL cuts a name. */
const MAX_NAME = 63;

/** A name with its suffix for PostgreSQL, cut to the limit of names. NUL is replaced by visible characters. */
export function cutName(name: string, suffix: string): string {
  let text = name.replaceAll('\0', '\\u0000');
  while (Buffer.byteLength(text + suffix) > MAX_NAME) text = [...text].slice(0, -1).join('');
  return text + suffix;
}
