import { isLoopback } from '../core/connections/loopback.js';
import { mayHoldSecret, type Secret } from '../core/connections/secret.js';
import type { Json } from '../core/text/json.js';
import { VERSION } from '../core/version.js';
import { type FieldProblem, withoutNulls } from './checks/fields.js';
import { isShape, shapeProblem } from './checks/shape.js';
import type { Endpoint } from './wire/endpoint.js';

/** Parses the base URL; `prefix` is its path without the last slash. Throws a `TypeError` whose message never holds the URL. */
export function resolveBase(baseUrl: string, setting: string): { readonly url: URL; readonly prefix: string } {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new TypeError(`the base URL (${setting}) must be an http or https URL`);
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError(`the base URL (${setting}) must have no user, password, query or fragment`);
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new TypeError(`the base URL (${setting}) must begin with https: the key would cross the network unencrypted`);
  return { url, prefix: url.pathname.replace(/\/+$/, '') };
}

const token = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
/** Visible ASCII, space and tab: accepted by undici and every server. */
const headerValue = /^[\t\x20-\x7e]*$/;
/** Headers that the client or the connection sets: other values would break the call or send the key elsewhere. */
const reserved = new Set([
  ...['accept-encoding', 'authorization', 'connection', 'content-length', 'expect', 'host', 'keep-alive'],
  ...['proxy-authorization', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'x-api-key'],
]);

/** Returns the problem of a header. An invalid name is not shown, because it may be a value in the wrong place. */
function headerProblem(name: string, value: string): string | null {
  if (!token.test(name)) return 'a header has a name that is not valid';
  if (reserved.has(name.toLowerCase())) return `header "${name}" is set by the client`;
  return headerValue.test(value) ? null : `header "${name}" has characters that are not allowed in a header`;
}

/** Names of headers that usually hold a key. */
const ofSecrets = /auth|key|token|secret|cookie|passw|credential|session|signature/i;

/** Returns the problems of headers that come from an input of a workflow or an activity, and so are in histories. Never shows a value. */
export function openHeaderProblems(headers: Readonly<Record<string, string>> | undefined): readonly string[] {
  return Object.entries(headers ?? {}).flatMap(([name, value]) => {
    const found = headerProblem(name, String(value));
    if (found) return [`extraHeaders: ${found}.`];
    return ofSecrets.test(name) || mayHoldSecret(String(value))
      ? [
          `extraHeaders: header "${name}" may hold a secret. Set it on the worker: SEARCHFLOW_HEADERS, or headers of the plugin.`,
        ]
      : [];
  });
}

function lowerCase(headers: Readonly<Record<string, string>> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
}

/**
 * Returns the headers of every request. Throws a `TypeError` for a key or headers that cannot be sent; the message never holds a
 * key or the value of a header.
 */
export function requestHeaders(
  apiKey: Secret | null,
  auth: 'x-api-key' | 'bearer',
  acceptEncoding: string,
  extra: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const headers: Record<string, string> = {
    accept: 'application/json',
    'user-agent': `searchflow/${VERSION}`,
    ...lowerCase(extra),
  };
  for (const [name, value] of Object.entries(lowerCase(extra))) {
    const found = headerProblem(name, value);
    if (found) throw new TypeError(found);
  }
  headers['accept-encoding'] = acceptEncoding;
  const key = apiKey?.reveal();
  if (key === undefined) return headers;
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new TypeError('the API key is empty or has characters that are not allowed in a header');
  headers[auth === 'bearer' ? 'authorization' : 'x-api-key'] = auth === 'bearer' ? `Bearer ${key}` : key;
  return headers;
}

export type EncodedRequest =
  | { readonly path: string; readonly body: string | null; readonly headers: Record<string, string> }
  | { readonly problem: FieldProblem };

/** Unchecked additions of a caller to one request; only additions that cannot be sent are refused. */
export interface RequestExtras {
  readonly body?: Readonly<Record<string, Json>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * Checks a request against its types and returns the encoded request, or the problem of the first bad field. Sends nothing. A null counts as
 * an absent field, and is sent.
 */
export function encodeRequest<I, O>(endpoint: Endpoint<I, O>, input: unknown, extra: RequestExtras): EncodedRequest {
  if (!isShape(endpoint.request, input)) {
    const known = withoutNulls(input);
    if (!isShape(endpoint.request, known)) {
      const { field, message } = shapeProblem(endpoint.request, known);
      return { problem: { field, message: `${field || 'the request'}: ${message}` } };
    }
  }
  const headers = lowerCase(extra.headers);
  for (const [name, value] of Object.entries(headers)) {
    const found = headerProblem(name, value);
    if (found) {
      const field = token.test(name) ? `extraHeaders.${name}` : 'extraHeaders';
      return { problem: { field, message: found } };
    }
  }

  const fields: Record<string, unknown> = Object.fromEntries(Object.entries(input as object));
  if (fields.stream === true)
    return { problem: { field: 'stream', message: 'stream: this call reads a whole answer; use the streamed form' } };
  const filled = fillPath(endpoint.path, fields);
  if ('problem' in filled) return filled;
  for (const name of pathFields(endpoint.path)) delete fields[name];
  if (endpoint.method === 'GET' || endpoint.method === 'DELETE') {
    if (extra.body && Object.keys(extra.body).length > 0) {
      return { problem: { field: 'extraBody', message: `extraBody: a ${endpoint.method} has no body` } };
    }
    const encoded = encodeQuery(fields);
    if ('problem' in encoded) return encoded;
    return { path: filled.path + encoded.query, body: null, headers };
  }
  const whole = { ...fields, ...extra.body };
  // An action such as `cancel` has no body in the contract.
  if (endpoint.method === 'POST' && Object.keys(whole).length === 0) return { path: filled.path, body: null, headers };
  try {
    return { path: filled.path, body: JSON.stringify(whole), headers };
  } catch {
    return { problem: { field: '', message: 'the request holds a value that JSON cannot represent' } };
  }
}

function isScalar(value: unknown): value is string | number | boolean {
  return (
    typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))
  );
}

/**
 * Encodes fields as a query that begins with `?`. If there are no fields, the query is empty. A list repeats its name, an object
 * is `name[key]=value` (deepObject, as /monitors takes its filter). Absent and null fields are left out. Deeper values are
 * refused.
 */
function encodeQuery(
  fields: Readonly<Record<string, unknown>>,
): { readonly query: string } | { readonly problem: FieldProblem } {
  const pairs: string[] = [];
  const add = (name: string, value: unknown): FieldProblem | null => {
    if (value === undefined || value === null) return null;
    if (!isScalar(value)) return { field: name, message: `${name}: a value of this type has no form in a query` };
    const [left, right] = [percentEncode(name), percentEncode(String(value))];
    if (left === null || right === null)
      return { field: name, message: `${name}: the string has an unpaired surrogate` };
    pairs.push(`${left}=${right}`);
    return null;
  };
  for (const [name, value] of Object.entries(fields)) {
    const parts: readonly (readonly [string, unknown])[] = Array.isArray(value)
      ? value.map((item) => [name, item] as const)
      : typeof value === 'object' && value !== null
        ? Object.entries(value).map(([key, item]) => [`${name}[${key}]`, item] as const)
        : [[name, value]];
    for (const [partName, part] of parts) {
      const wrong = add(partName, part);
      if (wrong) return { problem: wrong };
    }
  }
  return { query: pairs.length === 0 ? '' : `?${pairs.join('&')}` };
}

const braced = /\{(\w+)\}/g;

/** Percent-encodes a text for a path or a query; null for a text with an unpaired surrogate, which UTF-8 cannot encode. */
function percentEncode(text: string): string | null {
  try {
    return encodeURIComponent(text);
  } catch {
    return null;
  }
}

export function pathFields(path: string): string[] {
  return [...path.matchAll(braced)].map((match) => match[1] ?? '');
}

/** Fills a path with encoded ids of the input, or returns the problem of an id that cannot be in a path. */
function fillPath(path: string, input: object): { readonly path: string } | { readonly problem: FieldProblem } {
  let wrong: FieldProblem | null = null;
  const filled = path.replace(braced, (_, name: string) => {
    const value: unknown = Object.getOwnPropertyDescriptor(input, name)?.value;
    // A dot segment, encoded or not, would lead to another path.
    const encoded = typeof value === 'string' && !/^(\s*|\.{1,2})$/.test(value) ? percentEncode(value) : null;
    if (encoded === null) wrong ??= { field: name, message: `${name} must be an id` };
    return encoded ?? '';
  });
  return wrong ? { problem: wrong } : { path: filled };
}
