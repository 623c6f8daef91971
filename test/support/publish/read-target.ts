import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Manifest } from '../../../src/warehouse/publish/manifest.js';
import { runInDuckDb } from '../warehouse/read-duckdb.js';

/** The manifest of a target; null if there is none. */
export function manifestIn(folder: string): Manifest | null {
  const path = join(folder, 'manifest.json');
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Manifest) : null;
}

/**
 * The rows of a table of a target, read as a user would: through the files that the manifest names. Checks the hash, size and rows of each
 * file. Null if there is no manifest.
 */
export async function publishedRows<Row = Record<string, unknown>>(
  folder: string,
  table: string,
  sql = '*',
): Promise<Row[] | null> {
  const found = manifestIn(folder)?.tables.find(({ name }) => name === table);
  if (found === undefined) return null;
  for (const { path, bytes, sha256 } of found.files) {
    const content = readFileSync(join(folder, path));
    if (content.length !== bytes || createHash('sha256').update(content).digest('hex') !== sha256)
      throw new Error(`${path} is not the file of the manifest`);
  }
  const files = found.files.map(({ path }) => `'${join(folder, path)}'`).join(', ');
  const [counted] = await runInDuckDb(':memory:', `SELECT count(*)::INTEGER AS n FROM read_parquet([${files}])`);
  if (counted?.n !== found.rows) throw new Error(`${table} has other rows than its manifest says`);
  return runInDuckDb<Row>(':memory:', `SELECT ${sql} FROM read_parquet([${files}])`);
}
