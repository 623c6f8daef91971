import { quoted } from './csv-error.js';

/** Longest URL the service takes, in characters. */
const MAX_URL = 2048;
const CONTROL = /\p{Cc}/u;
/** Scheme that a URL without one is given, where the job says so. */
export type Scheme = 'http' | 'https';

const HAS_SCHEME = /^https?:\/\//i;
/** A domain: labels with dots between, the last one of at least two characters that begin with a letter. */
const DOMAIN =
  /^(?:[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_-]*[\p{L}\p{M}\p{N}_])?\.)+\p{L}[\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}]\.?$/u;
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const EMAIL = /^(?:mailto:)?[^\s@/]+@[^\s@/]+\.[^\s@/]+$/i;

/** A text (trimmed) as a URL, its scheme added where it has none; null for one that is no URL. */
export function toUrl(text: string, scheme: Scheme | null): string | null {
  if (HAS_SCHEME.test(text)) return urlProblem(text) === null ? text : null;
  return scheme === null ? null : withScheme(text, scheme);
}

/** Why a text (trimmed, not empty) is no URL that can be asked for, as the end of a sentence; `null` for one that is. */
export function urlProblem(text: string, scheme: Scheme | null = null): string | null {
  if (text.length > MAX_URL) return `a URL of ${text.length} characters; ${MAX_URL} is the limit`;
  if (!HAS_SCHEME.test(text)) return schemeProblem(text, scheme);
  // A URL parser would drop them silently, and something else would be bought than what stands in the cell.
  if (CONTROL.test(text)) return `${quoted(text)} has a control character or line break inside`;
  return URL.canParse(text) ? null : `${quoted(text)} is not a valid URL`;
}

function schemeProblem(text: string, scheme: Scheme | null): string | null {
  if (scheme !== null && withScheme(text, scheme) !== null) return null;
  const wrong = `${quoted(text)} does not begin with http:// or https://`;
  if (EMAIL.test(text)) return `${wrong}; it is an e-mail address`;
  const url = scheme === null ? withScheme(text, 'https') : null;
  return url === null ? wrong : `${wrong}; --default-scheme https takes it as ${quoted(url)}`;
}

/**
 * `firma.de/impressum`, `//firma.de` or `10.0.0.1:8080` with a scheme; null for what does not begin with a domain or an IPv4 address. A URL
 * parser alone would make hosts of bare words and numbers, too.
 */
export function withScheme(text: string, scheme: Scheme): string | null {
  const rest = text.replace(/^\/\//, '');
  const [, host = '', after = ''] = /^([^/?#:]*)(.*)$/s.exec(rest) ?? [];
  if (!(DOMAIN.test(host) || IPV4.test(host)) || !/^(?::\d{1,5})?(?:[/?#]|$)/.test(after)) return null;
  if (/\s/u.test(rest) || CONTROL.test(rest)) return null;
  const url = `${scheme}://${rest}`;
  return url.length <= MAX_URL && URL.canParse(url) ? url : null;
}
