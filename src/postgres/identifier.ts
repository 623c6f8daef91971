/** A name as SQL writes it, whatever characters it holds. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
