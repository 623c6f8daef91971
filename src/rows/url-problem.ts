import { addressSecrets } from '../core/connections/address-secrets.js';
import { parseUrl } from '../core/purchase/unit-key.js';
import { quoted as plainlyQuoted } from './csv-error.js';
import type { Oddity } from './row-reader.js';

/** Longest URL that the service accepts, in characters. */
const MAX_URL = 2048;
/** Control characters, and halves of characters. A URL parser would remove or replace them, and another URL would be bought. */
const CONTROL = /[\p{Cc}\p{Cs}]/u;
/** The character that replaces damaged texts, such as half of a surrogate pair. */
const REPLACED = '\ufffd';
export type Scheme = 'http' | 'https';

const HAS_SCHEME = /^https?:\/\//i;
/** A URL without a problem, as most are: a short ASCII domain that is not encoded, and a path in printable ASCII. */
const PLAIN = /^https?:\/\/(?:(?!xn--)[\w-]{1,62}\.){1,3}[a-z]{2,63}(?:[/?#][!-~]*)?$/i;
/** A URL parser would skip further slashes, and read a name from the path as the host. */
const HAS_HOST = /^https?:\/\/[^/\\?#:@]/i;
/** A domain: labels separated by dots. The last label has at least two characters and begins with a letter. */
const DOMAIN =
  /^(?:[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_-]*[\p{L}\p{M}\p{N}_])?\.)+\p{L}[\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}]\.?$/u;
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const EMAIL = /^(?:mailto:)?[^\s@/]+@[^\s@/]+\.[^\s@/]+$/i;

/** Returns a trimmed text as a URL; adds the scheme if the text has none. Null if the text is not a URL. */
export function toUrl(text: string, scheme: Scheme | null): string | null {
  if (HAS_SCHEME.test(text)) return urlProblem(text) === null ? text : null;
  return scheme === null ? null : withScheme(text, scheme);
}

/** Returns why a trimmed, non-empty text is not a valid URL, as the end of a sentence; `null` if the text is a URL. */
export function urlProblem(text: string, scheme: Scheme | null = null): string | null {
  if (text.length > MAX_URL) return `a URL of ${text.length} characters; ${MAX_URL} is the limit`;
  if (PLAIN.test(text)) return null;
  if (!HAS_SCHEME.test(text)) return schemeProblem(text, scheme);
  if (CONTROL.test(text)) return `${quoted(text)} has a control character, a line break or half of a character inside`;
  if (text.includes(REPLACED)) return `${quoted(text)} has U+FFFD, which replaces a damaged character`;
  if (!HAS_HOST.test(text)) return `${quoted(text)} has no host after ://`;
  const url = parseUrl(text);
  const problem = url === null ? 'is not a valid URL' : hostProblem(text, url);
  if (problem !== null) return `${quoted(text)} ${problem}`;
  return /\s/u.test(text) ? `${quoted(text)} has white space inside; write a space as %20` : null;
}

/** Returns why no page can be at a host; null if one can. The checks are those of a name server, which a URL parser does not make. */
function hostProblem(text: string, { username, password, hostname, port }: URL): string | null {
  if (username !== '' || password !== '') return 'has a user or a password, which the service must not get';
  if (/^https?:\/\/https?:?\/\//i.test(text)) return 'has two schemes';
  if (port === '0') return 'has port 0';
  if (hostname.startsWith('[')) return null;
  const labels = hostname.replace(/\.$/, '').split('.');
  if (labels.includes('')) return 'has a host with two dots in a row, or a dot at its start';
  if (hostname.length > 254 || labels.some(({ length }) => length > 63))
    return 'has a host that is too long; 63 characters between dots and 253 in all are the limit';
  return labels.every((label) => /^[\w-]+$/.test(label)) ? null : 'has a host with a character that no host has';
}

/** Quotes a text without the user and the password in it. */
export function quoted(text: string): string {
  const secrets = /[@=]/.test(text) ? addressSecrets(text.replace(/^\/+/, '')) : [];
  return plainlyQuoted(secrets.reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text));
}

/** Cells that most URLs have: printable ASCII, with percent-encodings. */
const USUAL = /^(?:[!-$&-[\]-~]|%[\da-f]{2})*$/i;
const INVISIBLE = /[\p{Cf}\p{DI}\u2800]/u;

/** Returns what is odd about a cell and its URL; null if nothing is. */
export function oddityOf(cell: string, url: string): Oddity | null {
  if (USUAL.test(cell) && PLAIN.test(url)) return null;
  const [invisible] = INVISIBLE.exec(url) ?? [];
  if (invisible !== undefined) {
    const code = (invisible.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0');
    return { what: 'with invisible characters, which are sent', example: `U+${code} in ${quoted(url)}` };
  }
  if (url.includes('\\')) return { what: 'with a backslash, which is sent', example: quoted(url) };
  if (/%(?![\da-f]{2})/i.test(url))
    return { what: 'with a % that encodes no character, which is sent', example: quoted(url) };
  const [, host = ''] = /^https?:\/\/([^/?#]*?)(?::\d*)?(?:[/?#]|$)/i.exec(url) ?? [];
  const { hostname } = new URL(url);
  if (host.toLowerCase() !== hostname) {
    const what = /[^!-~]/.test(host) ? 'with a host beyond ASCII' : 'with a host in an unusual form';
    return { what: `${what}, which is sent`, example: `${host} is ${hostname}` };
  }
  if (!hostname.includes('.') && !hostname.startsWith('['))
    return { what: 'with a host without a dot, which is sent', example: quoted(url) };
  if (/^\s|\s$/u.test(cell)) return { what: 'with surrounding white space, which is not sent', example: quoted(cell) };
  return null;
}

function schemeProblem(text: string, scheme: Scheme | null): string | null {
  if (scheme !== null && withScheme(text, scheme) !== null) return null;
  const wrong = `${quoted(text)} does not begin with http:// or https://`;
  if (EMAIL.test(text)) return `${wrong}; it is an e-mail address`;
  const url = scheme === null ? withScheme(text, 'https') : null;
  return url === null ? wrong : `${wrong}; --default-scheme https reads it as ${quoted(url)}`;
}

/**
 * Adds a scheme to a text such as `firma.de/impressum`, `//firma.de` or `10.0.0.1:8080`. Null for a text that does not begin with a domain
 * or an IPv4 address, because a URL parser alone would accept bare words and numbers as hosts.
 */
export function withScheme(text: string, scheme: Scheme): string | null {
  const rest = text.replace(/^\/\//, '');
  const [, host = '', after = ''] = /^([^/?#:]*)(.*)$/s.exec(rest) ?? [];
  if (!(DOMAIN.test(host) || IPV4.test(host)) || !/^(?::\d{1,5})?(?:[/?#]|$)/.test(after)) return null;
  if (/\s/u.test(rest) || CONTROL.test(rest) || rest.includes(REPLACED)) return null;
  return toUrl(`${scheme}://${rest}`, null);
}
