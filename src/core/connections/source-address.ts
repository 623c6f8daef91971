import { foreignScheme } from './address-secrets.js';
import { isLibpqForm, isPostgresUrl, parseAddress, whyPlain } from './postgres-address.js';

export const SOURCE_FORM = 'postgres://host:5432/database';

/** Whether an input is a database: its rows are those of a query. */
export const isDatabaseSource = (input: string): boolean => isPostgresUrl(input);

/** Why a text is an address that is not read, or a mistyped one, and no file, to follow the name of its flag; null for other texts. Never quotes the text. */
export function whyNoSource(input: string): string | null {
  if (isPostgresUrl(input)) return problemOf(input);
  const scheme = foreignScheme(input);
  const isMistyped = /^\s*(--?[\w-]+=)?['"\s]*postgres(ql)?([^\w.-]?:?\/\/|:)/i.test(input);
  if (isMistyped || isLibpqForm(input)) return `is not an address of PostgreSQL; write ${SOURCE_FORM}`;
  if (scheme === null) return null;
  return `${scheme === '' ? 'has a user or a secret and no scheme' : `is an address of ${scheme}, which is not read`}; name a file, an address of s3:// or https://, or ${SOURCE_FORM}`;
}

function problemOf(url: string): string | null {
  try {
    return whyPlain(parseAddress(url, ''));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** An input as in jobs and histories: a database without user and password, anything else unchanged. */
export function sourceShown(input: string): string {
  if (!isDatabaseSource(input)) return input;
  // The mistake is reported when the configuration is read.
  return problemOf(input) === null ? parseAddress(input, '').carried : 'postgres://';
}

/** The identity of an input, without the way to connect to its database. */
export function sourceIdentity(input: string): string {
  return isDatabaseSource(input) ? parseAddress(input, '').shown : input;
}
