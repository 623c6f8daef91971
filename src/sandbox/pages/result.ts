import type { Settings } from '../base/options.js';
import { authorOf, choose, fraction, hashText, mix, sentences, titleOf } from '../base/sentences.js';
import type { PageCounts } from '../ledger/ledger.js';
import type { ContentsOptions, Wanted } from './contents-options.js';
import { schemaValue } from './schema-value.js';

/** Settings that all pages share. */
export type PageSettings = Pick<Settings, 'seed' | 'textBytes'>;

/** One item of `results`. */
export type Result = Readonly<Record<string, unknown>> & { readonly url: string };

/** Makes the result of one URL, with the requested content only. */
export function resultOf(url: string, wanted: Wanted, options: ContentsOptions, settings: PageSettings): Result {
  const page = pageOf(url, settings.seed, settings.textBytes);
  const subpages = (options.subpages ?? 0) > 0 ? subpageUrls(url, options) : [];
  return {
    id: url,
    title: page.title,
    url,
    publishedDate: page.publishedDate,
    author: page.author,
    favicon: page.favicon,
    ...contentOf(page, url, wanted, settings.seed),
    ...(subpages.length > 0
      ? {
          subpages: subpages.map((one) =>
            resultOf(one, wanted, { ...options, subpages: 0, extras: undefined }, settings),
          ),
        }
      : {}),
    ...(options.extras ? { extras: extrasOf(url, options.extras) } : {}),
  };
}

/** Number of paid pages by kind of content. `pages`: number of results and subpages. */
export function countPages(wanted: Wanted, pages: number): PageCounts {
  return {
    text: wanted.text ? pages : 0,
    highlights: wanted.highlights ? pages : 0,
    summary: wanted.summary ? pages : 0,
  };
}

/** Number of pages of one result: the page itself and its subpages. */
export function pagesOf(options: ContentsOptions): number {
  return 1 + Math.min(options.subpages ?? 0, subpageLimit);
}

/** Joins the texts of all results for `context`. */
export function contextOf(results: readonly Result[], limit: number): string {
  const parts = results.map((one) => `Title: ${String(one.title)}\nURL: ${one.url}\n${String(one.text ?? '')}`);
  return parts.join('\n\n').slice(0, limit);
}

function contentOf(
  page: ReturnType<typeof pageOf>,
  url: string,
  wanted: Wanted,
  seed: number,
): Record<string, unknown> {
  const content: Record<string, unknown> = {};
  if (wanted.text) content.text = page.text.slice(0, wanted.text.maxCharacters ?? Number.POSITIVE_INFINITY);
  if (wanted.highlights) Object.assign(content, highlightsOf(page.text, wanted.highlights, hashText(url, seed)));
  if (wanted.summary) {
    const { query, schema } = wanted.summary;
    const about = query === undefined ? '' : ` Asked about "${query}".`;
    content.summary = schema
      ? JSON.stringify(schemaValue(schema, hashText(url + (query ?? ''), seed)))
      : `${page.title}: ${sentencesOf(page.text)[0] ?? ''}${about}`;
  }
  return content;
}

function sentencesOf(text: string): string[] {
  return (
    text
      .match(/[^.\n]+\.?/g)
      ?.map((one) => one.trim())
      .filter((one) => one !== '') ?? []
  );
}

/**
 * Highlights of a text. Snippets that share most words with the query come first. The scores only imitate cosine similarities.
 */
function highlightsOf(text: string, options: NonNullable<Wanted['highlights']>, hash: number): Record<string, unknown> {
  const size = options.numSentences ?? 1;
  const all = sentencesOf(text);
  const snippets: string[] = [];
  for (let from = 0; from < all.length; from += size) snippets.push(all.slice(from, from + size).join(' '));
  const words = (options.query ?? '')
    .toLowerCase()
    .split(/\W+/)
    .filter((word) => word.length > 2);
  const hits = (snippet: string) => words.filter((word) => snippet.toLowerCase().includes(word)).length;
  const best = snippets
    .map((snippet) => ({ snippet, hits: hits(snippet) }))
    .sort((left, right) => right.hits - left.hits)
    .slice(0, options.highlightsPerUrl ?? 1);
  return {
    highlights: best.map(({ snippet }) => snippet.slice(0, options.maxCharacters ?? Number.POSITIVE_INFINITY)),
    highlightScores: best.map((_, index) => Math.round((0.9 - index * 0.05 - fraction(hash, 81) / 5) * 1e4) / 1e4),
  };
}

/** A limit of the service, which may return fewer subpages than requested. */
const subpageLimit = 10;

function subpageUrls(url: string, options: ContentsOptions): string[] {
  const target = options.subpageTarget ?? [];
  const terms = (typeof target === 'string' ? target.split(',') : target)
    .map((term) => term.trim())
    .filter((term) => term !== '');
  const base = url.replace(/[?#].*$/, '').replace(/\/+$/, '');
  return Array.from({ length: pagesOf(options) - 1 }, (_, index) => {
    const term = terms[index % Math.max(1, terms.length)] ?? 'page';
    return `${base}/${encodeURIComponent(term)}${index < terms.length ? '' : `-${index + 1}`}`;
  });
}

function extrasOf(url: string, { links, imageLinks }: NonNullable<ContentsOptions['extras']>): Record<string, unknown> {
  const list = (length: number, tail: string) =>
    Array.from({ length }, (_, index) => `https://${hostOf(url)}/${tail.replace('#', String(index + 1))}`);
  return {
    ...(links ? { links: list(links, 'link-#') } : {}),
    ...(imageLinks ? { imageLinks: list(imageLinks, 'image-#.png') } : {}),
  };
}

/** Result of fetching one URL. */
export type Crawl =
  | { readonly status: 'success'; readonly source: 'cached' | 'crawled' }
  | ({ readonly status: 'error' } & Failure);

interface Failure {
  readonly tag: string;
  readonly httpStatusCode: number | null;
  /** Whether a later request for the URL may succeed. */
  readonly transient: boolean;
}

const notFound: Failure = { tag: 'CRAWL_NOT_FOUND', httpStatusCode: 404, transient: false };
const forbidden: Failure = { tag: 'CRAWL_HTTP_403', httpStatusCode: 403, transient: false };
const timeout: Failure = { tag: 'CRAWL_TIMEOUT', httpStatusCode: 504, transient: true };
const unavailable: Failure = { tag: 'SOURCE_NOT_AVAILABLE', httpStatusCode: null, transient: false };
const unknown: Failure = { tag: 'CRAWL_UNKNOWN_ERROR', httpStatusCode: 500, transient: true };
const unsupported: Failure = { tag: 'UNSUPPORTED_URL', httpStatusCode: null, transient: false };

/** Each element is chosen with equal probability. A missing page is the most frequent failure. */
const mixture = [notFound, notFound, notFound, forbidden, forbidden, timeout, timeout, unavailable, unknown];
const named = new Map([notFound, forbidden, timeout, unavailable, unknown, unsupported].map((one) => [one.tag, one]));

/** Accepts an http(s) URL, or a host without a scheme, as the service does. */
function isSupported(url: string): boolean {
  if (/^https?:\/\/\S+$/.test(url)) return true;
  const scheme = /^([a-z][a-z0-9+.-]*):(?!\d)/i.exec(url)?.[1]?.toLowerCase();
  return (scheme === undefined || scheme === 'http' || scheme === 'https') && !/\s/.test(url);
}

/**
 * Simulates a crawl. The URL decides whether the crawl fails, and how. A transient failure may end after some requests; any other failure
 * is permanent.
 */
export class Crawler {
  readonly #options: Settings;
  readonly #failures: ReadonlyMap<string, string>;
  readonly #attempts = new Map<string, number>();

  constructor(options: Settings) {
    this.#options = options;
    this.#failures = new Map(Object.entries(options.failures));
  }

  /** Deletes the record of transient failures. */
  reset(): void {
    this.#attempts.clear();
  }

  crawl(url: string, freshness: ContentsOptions): Crawl {
    const hash = hashText(url, this.#options.seed);
    const failure = this.#failureOf(url, hash);
    if (failure && !this.#heals(url, failure)) return { status: 'error', ...failure };
    return this.#find(hash, freshness);
  }

  #failureOf(url: string, hash: number): Failure | undefined {
    const wanted = this.#failures.get(url);
    if (wanted !== undefined) return named.get(wanted) ?? { tag: wanted, httpStatusCode: null, transient: false };
    if (!isSupported(url)) return unsupported;
    return fraction(hash, 51) < this.#options.failureRate ? choose(mixture, hash, 52) : undefined;
  }

  #heals(url: string, failure: Failure): boolean {
    if (!failure.transient || this.#options.transientFailures === null) return false;
    const attempts = (this.#attempts.get(url) ?? 0) + 1;
    this.#attempts.set(url, attempts);
    return attempts > this.#options.transientFailures;
  }

  /** One page in ten is not in the cache. The others were cached up to 720 hours ago. */
  #find(hash: number, { maxAgeHours, livecrawl }: ContentsOptions): Crawl {
    const ageHours = mix(hash, 53) % 10 === 0 ? Number.POSITIVE_INFINITY : mix(hash, 54) % 720;
    const cacheOnly = maxAgeHours === -1 || (maxAgeHours === undefined && livecrawl === 'never');
    if (cacheOnly) {
      if (ageHours === Number.POSITIVE_INFINITY) return { status: 'error', ...unavailable };
      return { status: 'success', source: 'cached' };
    }
    const always = maxAgeHours === undefined && livecrawl === 'always';
    const preferred = maxAgeHours === undefined && livecrawl === 'preferred';
    const maxAge = always ? 0 : preferred ? 1 : (maxAgeHours ?? 720);
    return { status: 'success', source: ageHours >= maxAge ? 'crawled' : 'cached' };
  }
}

const firstDay = Date.UTC(2015, 0, 1);
const tenYearsMs = 10 * 365 * 86_400_000;

/** The host of a URL, or the text itself up to the first slash. */
export function hostOf(url: string): string {
  const start = url.indexOf('://');
  const rest = start < 0 ? url : url.slice(start + 3);
  const end = rest.search(/[/?#]/);
  return end < 0 ? rest : rest.slice(0, end);
}

/**
 * Page text of 0.5 to 1.5 times `textBytes`, in whole sentences. As on the real web, some texts are hostile: one page in forty
 * begins with a spreadsheet formula, and another one in forty has terminal escapes.
 */
export function textOf(hash: number, textBytes: number): string {
  const length = textBytes * (0.5 + fraction(hash, 41));
  const dress = mix(hash, 42) % 40;
  let text =
    dress === 0 ? '=HYPERLINK("https://evil.example/","click") ' : dress === 1 ? '\u001b[31mSALE\u001b[0m ' : '';
  for (let salt = 100; text.length < length; salt += 1) {
    text += `${sentences[mix(hash, salt) % sentences.length]}${salt % 5 === 4 ? '\n' : ' '}`;
  }
  return text.trimEnd();
}

/** The date of a page, in 2015 to 2024. One page in ten has none. */
export function dateOf(hash: number): string | undefined {
  if (mix(hash, 43) % 10 === 0) return undefined;
  return new Date(firstDay + Math.floor(fraction(hash, 44) * tenYearsMs)).toISOString();
}

/** A made-up web page: all of its content follows from its URL and the seed. */
export function pageOf(url: string, seed: number, textBytes: number) {
  const hash = hashText(url, seed);
  const host = hostOf(url);
  return {
    title: titleOf(hash, host),
    author: authorOf(hash),
    publishedDate: dateOf(hash),
    favicon: `https://${host}/favicon.ico`,
    text: textOf(hash, textBytes),
  };
}

/** The filters that the stand-in index supports. `includeText` is not supported, because no made-up page would match it. */
type SearchFilters = { readonly query: string } & Partial<
  Record<'includeDomains' | 'excludeDomains' | 'excludeText', readonly string[]> &
    Record<'startPublishedDate' | 'endPublishedDate', string>
>;

/** Hosts under the reserved top-level domain, which no one owns. */
const hosts = [
  'harbour-review.example',
  'northwind-labs.example',
  'paper-and-ink.example',
  'city-archive.example',
  'open-catalogue.example',
  'field-notes.example',
  'radio-parts.example',
  'long-winter.example',
];

/**
 * Finds URLs for a query: always the same URLs in the same order, each once. Twenty candidates are tried for each requested
 * result. So strict filters may leave fewer results than requested.
 */
export function findUrls(filters: SearchFilters, asked: number, { seed, textBytes }: PageSettings): string[] {
  const slug = slugOf(filters.query);
  const base = hashText(filters.query, seed);
  const domains = filters.includeDomains?.length ? filters.includeDomains : hosts;
  const found: string[] = [];
  for (let index = 0; index < asked * 20 && found.length < asked; index += 1) {
    const domain = choose(domains, mix(base, index), 95).replace(/^\*\./, '').replace(/\/+$/, '');
    const url = `https://${domain}/${slug}-${index + 1}`;
    if (passes(url, filters, seed, textBytes)) found.push(url);
  }
  return found;
}

function slugOf(query: string): string {
  const words = query
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');
  // The text is cut between letters, not between code units, because half of a surrogate pair cannot be encoded.
  return encodeURIComponent([...words].slice(0, 60).join('')) || 'page';
}

function passes(url: string, filters: SearchFilters, seed: number, textBytes: number): boolean {
  const host = hostOf(url);
  const isExcluded = (domain: string) => host === domain || host.endsWith(`.${domain.replace(/^\*\./, '')}`);
  if (filters.excludeDomains?.some(isExcluded)) return false;
  const hash = hashText(url, seed);
  const { startPublishedDate: start, endPublishedDate: end } = filters;
  if (start !== undefined || end !== undefined) {
    const published = Date.parse(dateOf(hash) ?? '');
    if (!(published >= Date.parse(start ?? '0001-01-01') && published <= Date.parse(end ?? '9999-12-31'))) return false;
  }
  const banned = filters.excludeText?.[0];
  return banned === undefined || !textOf(hash, textBytes).toLowerCase().includes(banned.toLowerCase());
}
