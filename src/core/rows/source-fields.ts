import { isHook, secretParameter } from '../connections/address-secrets.js';
import { isMetadata } from '../connections/metadata-address.js';
import { isBareAddress } from '../connections/postgres-address.js';
import type { SourceFields } from '../row-job-schemas.js';

/** Note for the plan of a job without a key, whose SQL does not order its rows. */
export const UNORDERED =
  'The SQL has no ORDER BY, so its rows may come in another order with each run. Rows are matched by their cells; rows with equal cells are matched in their order. To match rows by the columns that identify them: --key.';

/** The fields that are set, and no others. */
export function sourceFieldsOf({ format, sql, table }: SourceFields): SourceFields {
  return { format: format || undefined, sql: sql || undefined, table: table || undefined };
}

/** Names an input for people: its file, and the table or query in it. */
export function inputText({ input, sql, table }: SourceFields & { readonly input: string }): string {
  if (sql !== undefined) return `${input}: ${sqlText(sql)}`;
  return table === undefined ? input : `${input}, table ${table}`;
}

/** SQL without the white space that does not count. */
export const sqlText = (sql: string): string =>
  sql
    .replace(/\s+/g, ' ')
    .replace(/[\s;]+$/, '')
    .trim();

/** Whether an input is an address: `s3://bucket/path`, `https://host/path` or `http://host/path`. */
export const isAddress = (input: string): boolean => /^(s3|https?):\/\//i.test(input);

/** Whether a path is an address of another system, such as `gs://bucket/x` or `mysql://host`, also after it was made absolute. */
export const hasScheme = (path: string): boolean => /(^|[\\/\s'"=])([a-z][a-z0-9+.-]+:)+[\\/]/i.test(path);

/** Words about an address where only a file or a folder can be written; they follow its name. */
export const NO_ADDRESS = 'is an address, not a file or folder of this machine: name one';

/** Why a path is no file or folder of this machine, as words that follow its name; null if it may be one. `platform`: of Node. */
export function whyNoPath(path: string, platform: string): string | null {
  if (hasScheme(path) || isBareAddress(path)) return NO_ADDRESS;
  const hasDrive = platform !== 'win32' && /(^|\/)[a-z]:[\\/]/i.test(path);
  return hasDrive ? 'has a drive of Windows: name a file or folder of this machine' : null;
}

/** Whether a path that does not exist is a pattern of file names. */
export const isPattern = (path: string): boolean => /[*?[]/.test(path);

export const pathOfAddress = (input: string): string => input.split('?', 1)[0] as string;

const SERVER = /^([a-z0-9][a-z0-9._-]*|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;
const BUCKET = /^[a-z0-9][a-z0-9._-]*$/i;
/** The parameters of `s3://` with their values. A strange value could lead the request to another server. */
const s3Values: Readonly<Record<string, RegExp>> = {
  ...{ region: /^[a-z0-9-]*$/i, endpoint: SERVER, url_style: /^(path|vhost)$/, use_ssl: /^(true|false)$/ },
};

/** `authority`: the server with its port, or the bucket. */
function partsOf(input: string) {
  const [, scheme = '', authority = ''] = /^([a-z0-9]+):\/\/([^/?]*)/i.exec(input) ?? [];
  const at = input.indexOf('?');
  const parameters = new URLSearchParams(at === -1 ? '' : input.slice(at + 1));
  const isS3 = scheme.toLowerCase() === 's3';
  const isPlain = isS3 ? parameters.get('use_ssl') === 'false' : scheme.toLowerCase() === 'http';
  return { isS3, isPlain, authority, parameters };
}

/**
 * Why an address must not be used, as a sentence; null if it may be. An address is kept in jobs and histories, so it must have no password and
 * no signature.
 */
export function whyNoAddress(input: string): string | null {
  const { isS3, authority, parameters } = partsOf(input);
  // DuckDB would read any other spelling as a file of this machine, and so the steps of a path.
  if (!/^(s3|https?):/.test(input)) return 'The scheme of the address must be in lower case';
  if (/\/\.\.?(\/|$)/.test(pathOfAddress(input))) return 'The address has a step such as .. in its path';
  if (isHook(input)) return 'The address is that of a webhook, whose path is a secret';
  if (authority.includes('@')) return 'The address has a user or password, which would be kept in the job';
  if (/[#\\\s\p{Cc}]/u.test(input)) return 'The address has a character that no address has';
  if (!(isS3 ? BUCKET : SERVER).test(authority)) return `The address has no valid ${isS3 ? 'bucket' : 'server'}`;
  if (isMetadata((isS3 ? (parameters.get('endpoint') ?? '') : authority).replace(/:\d+$/, '')))
    return 'The address is a metadata address, which is never read or written';
  const names = [...parameters.keys()];
  const secret = names.find((name) => secretParameter.test(name));
  if (secret !== undefined)
    return `The address has the parameter ${secret}, whose value may be a secret and would be kept in the job`;
  if (!isS3) return null;
  const wrong = names.find(
    (name) => parameters.getAll(name).length > 1 || s3Values[name]?.test(parameters.get(name) ?? '') === false,
  );
  return wrong === undefined ? null : `The address has a wrong value of the parameter ${wrong}`;
}

/** The server of an address, with its port, as the setting `hosts` names it; null for an address that must not be used. */
export function serverOfAddress(input: string): string | null {
  if (whyNoAddress(input) !== null) return null;
  const { isS3, isPlain, authority, parameters } = partsOf(input);
  const host = isS3 ? (parameters.get('endpoint') ?? 's3.amazonaws.com') : authority;
  return `${host.toLowerCase()}${/:\d+$/.test(host) ? '' : isPlain ? ':80' : ':443'}`;
}
