import { statSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { isPostgresUrl } from '../../core/connections/postgres-address.js';
import { whyNoAddress, whyNoPath } from '../../core/rows/source-fields.js';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { fileKind } from '../../files/file-kind.js';

/** Parameters of an address, with the settings of DuckDB's extension that they set. */
const parameters: Readonly<Record<string, string>> = {
  ...{ region: 's3_region', endpoint: 's3_endpoint', url_style: 's3_url_style', use_ssl: 's3_use_ssl' },
};

export interface S3Place {
  readonly bucket: string;
  /** `s3://bucket/prefix`, without a slash at the end. */
  readonly url: string;
  readonly settings: readonly (readonly [name: string, value: string])[];
}

/** Throws `WarehouseUnusable` for an unknown parameter; keys are not part of an address. `prefix`: begins the message. */
export function s3Place(address: string, prefix = ''): S3Place {
  const [start = '', query = ''] = address.split('?', 2);
  const url = start.replace(/\/+$/, '');
  const settings = [...new URLSearchParams(query)].map(([name, value]) => {
    const setting = parameters[name];
    if (setting === undefined)
      throw new WarehouseUnusable(
        'publish-target-invalid',
        `${prefix}an s3:// address has no parameter ${name}; it may have ${Object.keys(parameters).join(', ')}`,
      );
    return [setting, value] as const;
  });
  return { bucket: url.split('/')[2] ?? '', url, settings };
}

/**
 * The bucket of an address, with its endpoint if the address has one, and with `use_ssl=false` for a connection in plain text:
 * `s3://bucket?endpoint=host&use_ssl=false`.
 */
export function s3Name(address: string): string {
  const { bucket, settings } = s3Place(address);
  const named = new Map(settings);
  const endpoint = named.get('s3_endpoint');
  const parts = [
    ...(endpoint === undefined ? [] : [`endpoint=${endpoint}`]),
    ...(named.get('s3_use_ssl') === 'false' ? ['use_ssl=false'] : []),
  ];
  return `s3://${bucket}${parts.length === 0 ? '' : `?${parts.join('&')}`}`;
}

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
    if (why !== null) throw new WarehouseUnusable('publish-target-invalid', why);
    s3Place(to);
    return { kind: 's3', address: to };
  }
  const [, catalog = ''] = /^ducklake:(.*)$/.exec(to) ?? [];
  const path = resolve(catalog || to);
  // A folder has no such name; for one that does, write ./md:x.
  if (/^[a-z][a-z0-9+.-]+:/i.test(catalog || to) || whyNoPath(catalog || to, process.platform) !== null)
    throw new WarehouseUnusable(
      'publish-target-invalid',
      `the value (not shown) is not a target: give ${TARGET_FORMS}`,
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
