import { statSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import { whyNoAddress, whyNoPath } from '../../core/rows/source-fields.js';
import { fileKind } from '../../files/file-kind.js';
import { isPostgresUrl } from '../../postgres/index.js';
import { s3Place } from './s3-files.js';

/** Where a publish goes. */
export type Place =
  | { readonly kind: 'folder' | 'file' | 'ducklake'; readonly path: string }
  | { readonly kind: 'postgres'; readonly address: string }
  | { readonly kind: 's3'; readonly address: string };

const TARGET_FORMS =
  'a folder, a .duckdb file, postgres://host/database, s3://bucket/prefix, or ducklake:catalog.ducklake';

/**
 * The place of a target, by the form of its text. An existing file must be a DuckDB database; a new path is a database if it is named as
 * one, otherwise a folder. Never quotes the text, which may have a password.
 */
export function placeOf(to: string): Place {
  if (isPostgresUrl(to)) return { kind: 'postgres', address: to };
  if (/^s3:\/\//i.test(to)) {
    const why = whyNoAddress(to);
    if (why !== null) throw new WarehouseUnusable('publish-target-invalid', `--to: ${why}`);
    s3Place(to);
    return { kind: 's3', address: to };
  }
  const [, catalog = ''] = /^ducklake:(.*)$/.exec(to) ?? [];
  const path = resolve(catalog || to);
  // A folder has no such name; for one that does, write ./md:x.
  if (/^[a-z][a-z0-9+.-]+:/i.test(catalog || to) || whyNoPath(catalog || to, process.platform) !== null)
    throw new WarehouseUnusable(
      'publish-target-invalid',
      `--to: the value (not shown) is not a target: give ${TARGET_FORMS}`,
    );
  if (catalog !== '') return { kind: 'ducklake', path };
  const there = statSync(path, { throwIfNoEntry: false });
  if (there?.isFile()) {
    if (fileKind(path) === 'DuckDB database') return { kind: 'file', path };
    throw new WarehouseUnusable(
      'publish-target-invalid',
      `${path} is a file, not a DuckDB database: give ${TARGET_FORMS}`,
    );
  }
  const isDatabase = ['.duckdb', '.ddb', '.db'].includes(extname(path).toLowerCase());
  return { kind: there === undefined && isDatabase ? 'file' : 'folder', path };
}
