import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Manifest } from '../../../src/warehouse/publish/manifest.js';

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
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const files = found.files.map(({ path }) => `'${join(folder, path)}'`).join(', ');
    const reader = await connection.runAndReadAll(`SELECT ${sql} FROM read_parquet([${files}])`);
    const rows = reader.getRowObjectsJson() as Row[];
    const count = await connection.runAndReadAll(`SELECT count(*) FROM read_parquet([${files}])`);
    if (Number(count.getRows()[0]?.[0]) !== found.rows)
      throw new Error(`${table} has other rows than its manifest says`);
    return rows;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
