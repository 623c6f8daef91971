/** Quotes a name for SQL. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
