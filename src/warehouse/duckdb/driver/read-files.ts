import { open, stat } from 'node:fs/promises';
import { plainPath } from '../../shared/duckdb-quote.js';

const format = (name: string, columns: string, more = '') =>
  `read_json($${name}::VARCHAR[], format = 'newline_delimited', columns = {${columns}}${more})`;

/** Staged rows of the files in parameter `rows`, with all their fields. */
export const stagedRows = format(
  'rows',
  `n: 'BIGINT', h: 'VARCHAR', k: 'VARCHAR', u: 'VARCHAR', e: 'VARCHAR', m: 'VARCHAR', d: 'BOOLEAN', i: 'VARCHAR[]'`,
  `, compression = 'gzip', filename = true`,
);

/** Staged rows without cells: only the fields that identify rows. */
export const stagedKeys = format(
  'rows',
  `n: 'BIGINT', h: 'VARCHAR', k: 'VARCHAR', e: 'VARCHAR', m: 'VARCHAR'`,
  `, compression = 'gzip', filename = true`,
);

const unitFields = `{"v": "INTEGER", "key": "VARCHAR", "request_id": "VARCHAR", "fetched_at": "TIMESTAMP", "cost_micros": "BIGINT",
  "status": "VARCHAR", "error_tag": "VARCHAR", "http_status": "INTEGER", "source": "VARCHAR", "misread": "VARCHAR"}`;

/**
 * Query of the unit records in the files of parameter `units`, for lines of at most `bytes` bytes. A result is cut out of its line
 * unchanged, because DuckDB would rewrite the numbers in the result. A line is skipped if it is not JSON (the torn end of a file that is
 * being written) or has half of a surrogate pair. The caller must check that no unit is missing.
 */
export function unitRecords(bytes = MAX_OBJECT): string {
  const lines = upTo(
    `read_json_objects($units::VARCHAR[], format = 'newline_delimited', compression = 'uncompressed', ignore_errors = true)`,
    bytes,
  );
  return `(SELECT fields.* EXCLUDE (v), result FROM (
    SELECT fields, raw, CASE WHEN fields.v IS NOT NULL THEN TRY_CAST(raw AS JSON)
        WHEN json_type(line, '$.result') <> 'NULL' THEN json_extract(line, '$.result') END AS result
    FROM (SELECT line, from_json(left(line, mark - 1) || '}', '${unitFields}') AS fields,
        nullif(substr(line, mark + 10, length(line) - mark - 10), 'null') AS raw
      FROM (SELECT json::VARCHAR AS line, instr(json::VARCHAR, ',"result":') AS mark FROM ${lines} WHERE json IS NOT NULL)))
    WHERE result IS NOT NULL OR raw IS NULL OR fields.v IS NULL)`;
}

const MIN_OBJECT = 65_536;
/** The longest line, in bytes, that can be read with the usual memory of a warehouse. */
export const MAX_OBJECT = 16_777_216;

/**
 * A read function with the maximum size of a line. DuckDB allocates buffers of twice the maximum: its default of 16 MiB takes 32 MB of new
 * memory at every load, even for files of 3 MB. A longer line counts as unreadable.
 */
export function upTo(source: string, bytes: number): string {
  return source.replace(/\)$/, `, maximum_object_size = ${Math.max(MIN_OBJECT, Math.ceil(bytes))})`);
}

/** Size in bytes of the largest file. No line is longer than its file. */
export async function largest(files: readonly string[]): Promise<number> {
  return Math.max(0, ...(await Promise.all(files.map(async (file) => (await stat(file)).size))));
}

/** Unpacked size of a gzip file, from its last four bytes. */
export async function unpackedSize(file: string): Promise<number> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const end = Buffer.alloc(4);
    await handle.read(end, 0, 4, Math.max(0, size - 4));
    return end.readUInt32LE();
  } finally {
    await handle.close();
  }
}

/** Paths with their wildcards escaped. */
export function plainPaths(paths: readonly string[]): string[] {
  return paths.map(plainPath);
}
