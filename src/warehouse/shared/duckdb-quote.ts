/** A quoted name for SQL text. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A quoted string for SQL text, for statements without parameters. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A path with its wildcards escaped, for functions that read files. */
export function plainPath(path: string): string {
  return path.replace(/[*?[]/g, (char) => `[${char}]`);
}
