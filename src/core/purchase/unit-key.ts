import { canonicalJson, type Json } from '../text/json.js';

/** Computes the hex SHA-256 of a text. The function is passed as a parameter, because core has neither `node:` modules nor Web Crypto. */
export type Sha256 = (text: string) => string;

/**
 * Returns the key function of units: the first 128 bits (32 hex digits) of SHA-256(origin, operation, canonical options, unit).
 *
 * A unit is one URL, one rendered request or one agent row, so neither the size of a request, nor the order of rows, nor a new row changes
 * the key of a unit. The key covers the origin (a base URL or `sandbox`), so that sandbox answers never count as real ones.
 */
export function unitKeys(
  sha256: Sha256,
  origin: string,
  operation: string,
  options: unknown,
): (unit: string) => string {
  const prefix = `${canonicalJson([origin, operation, options])}\n`;
  return (unit) => sha256(prefix + unit).slice(0, 32);
}

/** The options of a key: those of the request, and how it is sent where that may change the answer. */
export const keyOptions = (options: unknown, wire: object): unknown =>
  Object.keys(wire).length === 0 ? options : [options, wire];

/** Most URLs are spelled as their page already: their host has no upper case, and nothing in their path can be spelled otherwise. */
const IS_PAGE = /^https?:\/\/[a-z\d][a-z\d-]*(?:\.[a-z\d-]+)*\.[a-z]+\/(?:[\w~-][\w.~-]*\/)*(?:[\w~-][\w.~-]*)?$/;
/** Characters that no URL has. A text with them is a unit of its own, because programs read it in different ways. */
const NO_URL = /[\s\\\p{C}\p{DI}]/u;
const PARTS = /^https?:\/\/(?!\/)((?:[^/?#]*@)?)[^/?#]*[^?#]*(\?[^#]*)?(#(?:\/|!).*)?/i;

/**
 * Returns the one spelling of the page that an http or https URL names. Spellings are equal by RFC 3986, sections 6.2.2 and 6.2.3: case of
 * scheme, host and percent-encodings, encoded letters, digits and `-._~`, dot segments, default or empty port, empty path. Hosts are equal in
 * Unicode and Punycode, and all forms of an IP address are equal. A fragment counts only as a route (`#/…`, `#!…`). All else counts: user,
 * `www.`, a dot after the host, a slash after the path, an empty query, the order of a query. Other texts are returned unchanged.
 */
export function pageUrlOf(url: string): string {
  if (IS_PAGE.test(url) || NO_URL.test(url)) return url;
  const [parts, parsed] = [PARTS.exec(url), parseUrl(url)];
  if (parts === null || parsed === null) return url;
  const [, user = '', query = '', route = ''] = parts;
  const { protocol, host, pathname } = parsed;
  return `${protocol}//${user}${host}${[pathname, query, route].map(sameEncoding).join('')}`;
}

/** Returns a text as a URL; null if it is none. In Node 20, `URL.canParse` refuses letters such as `ü` once its caller is optimized. */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

const sameEncoding = (text: string): string =>
  text.replace(/%[\da-f]{2}/gi, (code) => {
    const char = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return /[\w.~-]/.test(char) ? char : code.toUpperCase();
  });

/** Returns the text of a request for its key: canonical JSON. The field `url`, the page that a request is about, has one spelling. */
export function requestUnit(request: { readonly [name: string]: Json }): string {
  const { url } = request;
  return canonicalJson(typeof url === 'string' ? { ...request, url: pageUrlOf(url) } : request);
}
