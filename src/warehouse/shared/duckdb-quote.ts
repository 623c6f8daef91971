export { identifier } from '../../postgres/identifier.js';

const plainNames = /^(?:"([a-z_][a-z0-9_]*)"\.)?"([a-z_][a-z0-9_]*)"$/;
/** A quoted name, perhaps with its schema, as a person writes it: without the quotes if they are not needed. */
export const typedName = (quoted: string): string =>
  plainNames.exec(quoted)?.slice(1).filter(Boolean).join('.') ?? quoted;

/** A quoted string for SQL text, for statements without parameters. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A path with its wildcards escaped, for functions that read files. */
export function plainPath(path: string): string {
  return path.replace(/[*?[]/g, (char) => `[${char}]`);
}

/** Text of a time with a zone, in UTC. DuckDB's own text of times after the year 285000 has wrong digits. */
export const utcText = (value: string): string =>
  `CASE WHEN isfinite(${value}) THEN CAST(make_timestamp(epoch_us(${value})) AS VARCHAR) || '+00' ELSE CAST(${value} AS VARCHAR) END`;
