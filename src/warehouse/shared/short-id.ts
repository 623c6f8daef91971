import { createHash } from 'node:crypto';

/** Longest id in characters. PostgreSQL refuses a key of more than 2,704 bytes, and a key may have two ids. */
const LONGEST = 250;
const KEPT = 180;

/** An id in the form that tables hold: a longer id is cut and ends with its SHA-256, so that it fits into a key and stays distinct. */
export function shortId(id: string): string {
  const chars = id.length > LONGEST ? [...id] : [];
  if (chars.length <= LONGEST) return id;
  return `${chars.slice(0, KEPT).join('')}~${createHash('sha256').update(id).digest('hex')}`;
}

/** SQL expression of `shortId`. `sha256`: the expression of the hash. */
export function shortIdSql(id: string, sha256: string): string {
  return `CASE WHEN length(${id}) > ${LONGEST} THEN left(${id}, ${KEPT}) || '~' || ${sha256} ELSE ${id} END`;
}
