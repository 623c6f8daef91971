import { type Json, jsonText, RawJson } from '../../core/text/json.js';
import { type Misread, misreadText } from '../checks/shape.js';
import type { ContentsResponse } from './contents.js';

/** What became of one URL of a contents request. */
export interface MatchedUnit {
  readonly url: string;
  readonly status: 'success' | 'error';
  readonly errorTag: string | null;
  /** Of the page, not of the call. */
  readonly httpStatus: number | null;
  readonly source: string | null;
  /** The result as it came, or null. */
  readonly result: Json | RawJson;
  /** The status as it came, where it has fields that the ones above don't hold. */
  readonly told?: Json;
  /** Fields of its result or status that don't fit their types, in words. */
  readonly misread?: string;
}

/** What is known of an answer beside its values. */
export interface AnswerFacts {
  /** Each result as it came. */
  readonly raw?: readonly RawJson[] | undefined;
  /** What of the answer does not fit its types. */
  readonly misread?: readonly Misread[];
}

export interface MatchedContents {
  /** One for each URL asked, in that order. */
  readonly units: readonly MatchedUnit[];
  /** Results that belong to no URL asked. */
  readonly unmatched: readonly (Json | RawJson)[];
}

type Answered = Pick<ContentsResponse, 'results' | 'statuses'>;
type Result = Answered['results'][number];
type Status = NonNullable<Answered['statuses']>[number];

/** The service said nothing about this URL. */
export const MISSING_FROM_RESPONSE = 'MISSING_FROM_RESPONSE';
/** The service called it a success and sent no result, as it does with pages that are empty. Asking again brings no more. */
export const NO_CONTENT = 'NO_CONTENT';
/** A failure without a tag. */
const UNTAGGED = 'CRAWL_UNKNOWN_ERROR';

/**
 * Matches a contents answer to the URLs asked: by `statuses[].id`, `results[].id`, `results[].url`, then by the same with
 * URLs normalised; never by position. Of duplicates the first counts. The status decides between success and error, and
 * an error keeps a result that came under its own id. Pure. (Interface sections 2.1 and 2.3.)
 */
export function matchContents(
  urls: readonly string[],
  data: Answered,
  { raw, misread = [] }: AnswerFacts = {},
): MatchedContents {
  const results = data.results;
  const statusOf = lookup(data.statuses ?? [], (status: Status) => status.id);
  const byId = lookup(results, (result: Result) => result.id);
  const byUrl = lookup(results, (result: Result) => result.url);
  const used = new Set<Result>();
  const rawOf = raw?.length === results.length ? new Map(results.map((result, nth) => [result, raw[nth]])) : null;
  const kept = (result: Result): Json | RawJson => rawOf?.get(result) ?? (isJson(result) ? result : null);
  const misreadOf = misread.length === 0 ? null : byOwner(data, misread);

  const units = urls.map((url) => {
    const status = statusOf(url);
    // What the service calls failed has no result, as a rule: looking for one by a normalised URL would cost more than the rest.
    const failed = status?.status === 'error';
    const result = byId(url, failed) ?? (failed ? undefined : byUrl(url));
    if (result) used.add(result);
    const unit = toUnit(url, status, result, result ? kept(result) : null);
    const said = misreadOf?.(result, status) ?? '';
    return said === '' ? unit : { ...unit, misread: said };
  });
  if (used.size === results.length) return { units, unmatched: [] };

  const asked = new Set(urls);
  const askedLoosely = new Set(urls.map(normalise));
  const belongs = (id: string | null | undefined): boolean =>
    typeof id === 'string' && (asked.has(id) || askedLoosely.has(normalise(id)));
  const unmatched = results.flatMap((result) => {
    const known = used.has(result) || belongs(result.id) || belongs(result.url);
    return known ? [] : [kept(result)];
  });
  return { units, unmatched };
}

/** Results as one JSON value. */
export function listOf(results: readonly (Json | RawJson)[]): RawJson {
  return new RawJson(`[${results.map(jsonText).join(',')}]`);
}

/** What of an answer concerns a unit with this result and status: what is wrong with these, and with what all have in common. */
function byOwner(
  { results, statuses }: Answered,
  misread: readonly Misread[],
): (result: Result | undefined, status: Status | undefined) => string {
  const owned = new Map<unknown, string[]>();
  const shared: string[] = [];
  for (const one of misread) {
    const [list, nth] = one.path;
    const owner =
      typeof nth !== 'number'
        ? undefined
        : list === 'results'
          ? results[nth]
          : list === 'statuses'
            ? statuses?.[nth]
            : undefined;
    const text = misreadText([one], owner === undefined ? 0 : 2);
    if (owner === undefined) shared.push(text);
    else owned.set(owner, [...(owned.get(owner) ?? []), text]);
  }
  return (result, status) => {
    const own = [...(result ? (owned.get(result) ?? []) : []), ...(status ? (owned.get(status) ?? []) : [])];
    return [...own, ...shared].join('; ');
  };
}

function toUnit(
  url: string,
  status: Status | undefined,
  result: Result | undefined,
  kept: Json | RawJson,
): MatchedUnit {
  const httpStatus = status?.error?.httpStatusCode ?? null;
  const source = status?.source ?? null;
  const tag = status?.error?.tag || null;
  const told = isJson(status) && saysMore(status) ? { told: status } : {};
  const common = { url, httpStatus, source, result: kept, ...told };
  // A status this version doesn't know, with a result beside it, is as good as a success.
  const failed = status?.status === 'error' || (status !== undefined && status.status !== 'success' && !result);
  if (failed) return { ...common, status: 'error', errorTag: tag ?? UNTAGGED };
  if (result) return { ...common, status: 'success', errorTag: null };
  return { ...common, status: 'error', errorTag: status ? NO_CONTENT : MISSING_FROM_RESPONSE };
}

const statusFields = new Set(['id', 'status', 'source', 'error']);
const errorFields = new Set(['tag', 'httpStatusCode']);

function saysMore(status: Status): boolean {
  if (status.status !== 'success' && status.status !== 'error') return true;
  const strange = (value: object, known: ReadonlySet<string>) => Object.keys(value).some((name) => !known.has(name));
  return strange(status, statusFields) || (status.error ? strange(status.error, errorFields) : false);
}

/** Finds by exact text, and only if that fails by normalised URL: an ordinary answer never parses one. */
function lookup<T>(
  items: readonly T[],
  idOf: (item: T) => string | null | undefined,
): (url: string, exactly?: boolean) => T | undefined {
  const exact = new Map<string, T>();
  for (const item of items) {
    const id = idOf(item);
    if (typeof id === 'string' && !exact.has(id)) exact.set(id, item);
  }
  let loose: Map<string, T> | null = null;
  return (url, exactly) => {
    const found = exact.get(url);
    if (found !== undefined || exactly || exact.size === 0) return found;
    loose ??= normalised(exact);
    return loose.get(normalise(url));
  };
}

function normalised<T>(exact: ReadonlyMap<string, T>): Map<string, T> {
  const loose = new Map<string, T>();
  for (const [id, item] of exact) {
    const key = normalise(id);
    if (!loose.has(key)) loose.set(key, item);
  }
  return loose;
}

/** The same for URLs that differ in case of scheme and host, default port, trailing slash or fragment only. */
function normalise(url: string): string {
  if (!URL.canParse(url)) return url.trim();
  const { protocol, username, password, host, pathname, search } = new URL(url);
  return `${protocol}//${username}:${password}@${host}${pathname.replace(/\/+$/, '')}${search}`;
}

/** Whatever an answer holds came out of a JSON text. */
function isJson(value: unknown): value is Json {
  return value !== undefined;
}
