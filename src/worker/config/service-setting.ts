import { requestHeaders } from '../../api/request.js';
import { isLoopback } from '../../core/connections/loopback.js';
import type { ProxySetting } from '../../core/connections/proxies.js';
import { Secret } from '../../core/connections/secret.js';
import { Wrong } from './setting.js';

/** Access to the service's bill: `searchflow usage --reconcile`. */
export interface BillSetting {
  /** The address without `/team-management`; null: the address of a bill for this service is not known. */
  readonly url: string | null;
  readonly serviceKey: Secret | null;
  /** Ids of the team's API keys. */
  readonly keyIds: readonly string[];
  readonly proxy?: ProxySetting;
}

const MOST_KEYS = 50;
const MOST_TOKENS = 50;

export function keySetting(text: string): Secret {
  if (/^[\x21-\x7e]+$/.test(text)) return new Secret(text);
  throw new Wrong(
    'has white space, a control character or a character outside ASCII. Copy it again without quotes or line breaks',
  );
}

/** An address of the service; `key`: the setting that has its key. */
export const serviceAddress = (key: string) => (text: string) => {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw new Error('is not an http or https address');
  if (url.username !== '' || url.password !== '')
    throw new Wrong(`contains a user name or password. Give the key in ${key}`);
  if (url.search !== '' || url.hash !== '') throw new Wrong('has a query or fragment. Give the address without it');
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new Error('must begin with https, because http would send the key unencrypted');
  return url.href.replace(/\/+$/, '');
};

/** Tokens that are separated by commas. */
export function readTokens(text: string): readonly string[] {
  const tokens = text.split(',').map((one) => one.trim());
  if (tokens.length <= MOST_TOKENS && tokens.every((one) => /^[\w.-]{1,100}$/.test(one))) return tokens;
  throw new Wrong('is not a list of tokens such as feature-2026-08-28');
}

export function keyIds(ids: readonly string[]): readonly string[] {
  const different = [...new Set(ids)];
  const isList = different.length > 0 && different.length <= MOST_KEYS;
  if (isList && different.every((id) => /^[\w-]{1,200}$/.test(id))) return different;
  throw new Error(
    `is not a list of ids of API keys such as 550e8400-e29b-41d4-a716-446655440000 (at most ${MOST_KEYS}, separated by commas)`,
  );
}

/** Headers as a JSON object, or as `Name: value` (or `name=value`), separated by commas or line breaks. Their values are never shown. */
export function readHeaders(text: string): Readonly<Record<string, string>> {
  if (text.trimStart().startsWith('{')) return jsonHeaders(text);
  const pairs = text.split(/[,\n]/).filter((one) => one.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name, value = ''] = /^\s*([^:=\s]+)\s*[:=]\s*(.*?)\s*$/.exec(pair) ?? [];
      if (name === undefined) throw noHeaders();
      return [name, value];
    }),
  );
}

function jsonHeaders(text: string): Readonly<Record<string, string>> {
  try {
    const headers: Record<string, string> = JSON.parse(text);
    if (Object.entries(headers).every(([name, value]) => name !== '' && typeof value === 'string')) return headers;
  } catch {
    // The message is the same for a text that is not JSON.
  }
  throw noHeaders();
}

const noHeaders = () => new Wrong('must be a JSON object of texts, or a list such as x-team: data, x-stage: test');

/** Throws for headers that cannot be sent. Shows no value. */
export function checkedHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  try {
    requestHeaders(null, 'x-api-key', '', headers);
    return headers;
  } catch (error) {
    throw new Wrong((error as Error).message, '');
  }
}
