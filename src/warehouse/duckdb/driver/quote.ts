/** A name for SQL text, whatever is in it. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A string for SQL text, where a statement takes no parameter. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A path that a reading function takes for itself and not for a pattern. */
export function plainPath(path: string): string {
  return path.replace(/[*?[]/g, (char) => `[${char}]`);
}
