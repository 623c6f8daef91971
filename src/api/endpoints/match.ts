import type { UnitOutcome } from '../../core/purchase/journal.js';
import { pageUrlOf } from '../../core/purchase/unit-key.js';
import { type Json, jsonText, RawJson } from '../../core/text/json.js';
import { type Misread, misreadText } from '../checks/shape.js';
import type { ContentsResponse } from './contents.js';

/** The outcome of one URL of a contents request. */
export interface MatchedUnit extends Omit<UnitOutcome, 'key' | 'unit' | 'costMicros' | 'by'> {
  readonly url: string;
}

/** Facts about an answer that are not in the values of the answer. */
export interface AnswerFacts {
  /** Each result byte for byte. */
  readonly raw?: readonly RawJson[] | undefined;
  /** Fields of the answer that do not fit their types. */
  readonly misread?: readonly Misread[];
}

export interface MatchedContents {
  /** One unit for each requested URL, in the order of the URLs. */
  readonly units: readonly MatchedUnit[];
  /** Results that belong to no requested URL. */
  readonly unmatched: readonly (Json | RawJson)[];
}

type Answered = Pick<ContentsResponse, 'results' | 'statuses'>;
type Result = Answered['results'][number];
type Status = NonNullable<Answered['statuses']>[number];

/** The answer has nothing for this URL. */
export const MISSING_FROM_RESPONSE = 'MISSING_FROM_RESPONSE';
/** The service reported a success without a result, as it does for empty pages. A second request would return the same. */
export const NO_CONTENT = 'NO_CONTENT';
/** The tag of a failure for which the service sent no tag. */
const UNTAGGED = 'CRAWL_UNKNOWN_ERROR';

/**
 * Matches a contents answer to the requested URLs: by `statuses[].id`, `results[].id` and `results[].url`, first exactly, then as spellings of
 * one page, then loosely; never by position. Of duplicates the first counts. The status decides between success and error; a failed URL keeps a result whose `id`
 * is exactly that URL. Pure (API reference: /contents).
 */
export function matchContents(
  urls: readonly string[],
  data: Answered,
  { raw, misread = [] }: AnswerFacts = {},
): MatchedContents {
  const results = data.results;
  const pages = new Pages(urls);
  const statusOf = lookup(data.statuses ?? [], pages, (status: Status) => status.id);
  const byResultId = lookup(results, pages, (result: Result) => result.id);
  const byUrl = lookup(results, pages, (result: Result) => result.url);
  const used = new Set<Result>();
  const rawOf = raw?.length === results.length ? new Map(results.map((result, nth) => [result, raw[nth]])) : null;
  const kept = (result: Result): Json | RawJson => rawOf?.get(result) ?? (isJson(result) ? result : null);
  const misreadOf = misread.length === 0 ? null : byOwner(data, misread);

  const units = urls.map((url) => {
    const status = statusOf(url);
    // A failed URL rarely has a result, and the lookup by normalised URL is slower than all other steps, so a failed URL is
    // looked up only by exact text.
    const failed = status?.status === 'error';
    const result = byResultId(url, failed) ?? (failed ? undefined : byUrl(url));
    if (result) used.add(result);
    return toUnit(url, status, result, result ? kept(result) : null, misreadOf?.(result, status) || undefined);
  });
  if (used.size === results.length) return { units, unmatched: [] };

  const askedLoosely = new Set(urls.map(loosely));
  const belongs = (id: string | null | undefined): boolean => typeof id === 'string' && askedLoosely.has(loosely(id));
  const unmatched = results.flatMap((result) => {
    const known = used.has(result) || belongs(result.id) || belongs(result.url);
    return known ? [] : [kept(result)];
  });
  return { units, unmatched };
}

export function listOf(results: readonly (Json | RawJson)[]): RawJson {
  return new RawJson(`[${results.map(jsonText).join(',')}]`);
}

/**
 * Returns a function that lists the misread fields of a unit with this result and status: the fields of this unit, and the fields
 * that all units share.
 */
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
  misread: string | undefined,
): MatchedUnit {
  const httpStatus = status?.error?.httpStatusCode ?? null;
  const source = status?.source ?? null;
  const tag = status?.error?.tag?.trim() || null;
  const wholeStatus = isJson(status) && hasMoreFields(status) ? status : undefined;
  // An unknown status with a result counts as a success.
  const failed = status?.status === 'error' || (status !== undefined && status.status !== 'success' && !result);
  const errorTag = failed ? (tag ?? UNTAGGED) : result ? null : status ? NO_CONTENT : MISSING_FROM_RESPONSE;
  // All units have the same fields, because reading objects of different shapes takes more time.
  return {
    url,
    status: errorTag === null ? 'success' : 'error',
    errorTag,
    httpStatus,
    source,
    result: kept,
    wholeStatus,
    misread,
  };
}

const statusFields = new Set(['id', 'status', 'source', 'error']);
const errorFields = new Set(['tag', 'httpStatusCode']);

function hasMoreFields(status: Status): boolean {
  if (status.status !== 'success' && status.status !== 'error') return true;
  const unknown = (value: object, known: ReadonlySet<string>) => Object.keys(value).some((name) => !known.has(name));
  return unknown(status, statusFields) || (status.error ? unknown(status.error, errorFields) : false);
}

/** The pages of the requested URLs, which are read only if an answer does not have the exact URLs. */
class Pages {
  readonly #urls: readonly string[];
  #all: ReadonlySet<string> | null = null;

  constructor(urls: readonly string[]) {
    this.#urls = urls;
  }

  has(page: string): boolean {
    this.#all ??= new Set(this.#urls.map(pageUrlOf));
    return this.#all.has(page);
  }
}

/**
 * Finds by exact text, then by page, then loosely: for most answers no URL is parsed. A requested page is not found loosely by another URL, such
 * as the one with a slash at its end.
 */
function lookup<T>(
  items: readonly T[],
  pages: Pages,
  idOf: (item: T) => string | null | undefined,
): (url: string, exactly?: boolean) => T | undefined {
  let exact: Map<string, T> | null = null;
  let byPage: Map<string, T> | null = null;
  let loose: Map<string, T> | null = null;
  return (url, exactly) => {
    exact ??= byId(items, idOf);
    const found = exact.get(url);
    if (found !== undefined || exactly || exact.size === 0) return found;
    byPage ??= under(exact, pageUrlOf);
    const ofPage = byPage.get(pageUrlOf(url));
    if (ofPage !== undefined) return ofPage;
    loose ??= under(byPage, (page) => (pages.has(page) ? null : loosely(page)));
    return loose.get(loosely(url));
  };
}

function byId<T>(items: readonly T[], idOf: (item: T) => string | null | undefined): Map<string, T> {
  const found = new Map<string, T>();
  for (const item of items) {
    const id = idOf(item);
    if (typeof id === 'string' && !found.has(id)) found.set(id, item);
  }
  return found;
}

/** The items under other names, the first one for each name; null: none. */
function under<T>(items: ReadonlyMap<string, T>, nameOf: (id: string) => string | null): Map<string, T> {
  const found = new Map<string, T>();
  for (const [id, item] of items) {
    const name = nameOf(id);
    if (name !== null && !found.has(name)) found.set(name, item);
  }
  return found;
}

/** Returns a form of a URL that is equal for URLs of one page, and for URLs that differ in a slash at the end of the path or in the fragment. */
function loosely(url: string): string {
  const page = pageUrlOf(url.trim());
  const [, path = page, query = ''] = /^(https?:[^?#]*)(\?[^#]*)?/i.exec(page) ?? [];
  return path.replace(/\/+$/, '') + query;
}

/** Every defined value of an answer was parsed from JSON, so only the type is asserted here. */
function isJson(value: unknown): value is Json {
  return value !== undefined;
}
