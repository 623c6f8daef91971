import { plainPath } from './quote.js';

const format = (name: string, columns: string, more = '') =>
  `read_json($${name}::VARCHAR[], format = 'newline_delimited', columns = {${columns}}${more})`;

/** Staged rows of the files in parameter `rows`, with all their fields. */
export const stagedRows = format(
  'rows',
  `n: 'BIGINT', h: 'VARCHAR', k: 'VARCHAR', u: 'VARCHAR', e: 'VARCHAR', m: 'VARCHAR', d: 'BOOLEAN', i: 'VARCHAR[]'`,
  `, compression = 'gzip', filename = true`,
);

/** The same without cells: what tells rows apart. */
export const stagedKeys = format(
  'rows',
  `n: 'BIGINT', h: 'VARCHAR', k: 'VARCHAR', e: 'VARCHAR', m: 'VARCHAR'`,
  `, compression = 'gzip', filename = true`,
);

/**
 * Unit records of the files in parameter `units`. A line that is no JSON (the torn end of a file that is being written)
 * is passed over: whoever loads must see for himself that no unit is missing.
 */
export const unitRecords = format(
  'units',
  `key: 'VARCHAR', request_id: 'VARCHAR', fetched_at: 'TIMESTAMP', cost_micros: 'BIGINT', status: 'VARCHAR',
   error_tag: 'VARCHAR', http_status: 'INTEGER', source: 'VARCHAR', result: 'JSON'`,
  `, compression = 'uncompressed', ignore_errors = true`,
);

/** Paths as the reading functions want them. */
export function plainPaths(paths: readonly string[]): string[] {
  return paths.map(plainPath);
}
