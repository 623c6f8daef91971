import type { Settings } from '../base/options.js';
import { choose, fraction, hashText, mix } from '../base/sentences.js';
import type { ContentsOptions } from './contents-options.js';

/** Result of fetching one URL. */
export type Crawl =
  | { readonly status: 'success'; readonly source: 'cached' | 'crawled' }
  | { readonly status: 'error'; readonly error: { readonly tag: string; readonly httpStatusCode: number | null } };

/** A later request for the URL may succeed. */
const transient = ['CRAWL_TIMEOUT', 'CRAWL_UNKNOWN_ERROR'];
const statusCodes: Readonly<Record<string, number>> = {
  CRAWL_NOT_FOUND: 404,
  CRAWL_HTTP_403: 403,
  CRAWL_TIMEOUT: 504,
  CRAWL_UNKNOWN_ERROR: 500,
};
/** Each element is chosen with equal probability. A missing page is the most frequent failure. */
const mixture = [
  ...['CRAWL_NOT_FOUND', 'CRAWL_NOT_FOUND', 'CRAWL_NOT_FOUND', 'CRAWL_HTTP_403', 'CRAWL_HTTP_403'],
  ...['CRAWL_TIMEOUT', 'CRAWL_TIMEOUT', 'SOURCE_NOT_AVAILABLE', 'CRAWL_UNKNOWN_ERROR'],
];

function failed(tag: string): Crawl {
  return { status: 'error', error: { tag, httpStatusCode: statusCodes[tag] ?? null } };
}

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
  readonly #attempts = new Map<string, number>();

  constructor(options: Settings) {
    this.#options = options;
  }

  /** Deletes the record of transient failures. */
  reset(): void {
    this.#attempts.clear();
  }

  crawl(url: string, freshness: ContentsOptions): Crawl {
    const hash = hashText(url, this.#options.seed);
    const tag = this.#failureOf(url, hash);
    return tag !== null && !this.#heals(url, tag) ? failed(tag) : this.#find(hash, freshness);
  }

  #failureOf(url: string, hash: number): string | null {
    const { failures, failureRate } = this.#options;
    if (Object.hasOwn(failures, url)) return failures[url] as string;
    if (!isSupported(url)) return 'UNSUPPORTED_URL';
    return fraction(hash, 51) < failureRate ? choose(mixture, hash, 52) : null;
  }

  #heals(url: string, tag: string): boolean {
    const { transientFailures } = this.#options;
    if (!transient.includes(tag) || transientFailures === null) return false;
    const attempts = (this.#attempts.get(url) ?? 0) + 1;
    this.#attempts.set(url, attempts);
    return attempts > transientFailures;
  }

  /** One page in ten is not in the cache. The others were cached up to 720 hours ago. */
  #find(hash: number, { maxAgeHours, livecrawl = 'auto' }: ContentsOptions): Crawl {
    const ageHours = mix(hash, 53) % 10 === 0 ? Number.POSITIVE_INFINITY : mix(hash, 54) % 720;
    const oldest = maxAgeHours ?? { never: -1, always: 0, preferred: 1, fallback: 720, auto: 720 }[livecrawl];
    if (oldest === -1 && ageHours === Number.POSITIVE_INFINITY) return failed('SOURCE_NOT_AVAILABLE');
    return { status: 'success', source: oldest === -1 || ageHours < oldest ? 'cached' : 'crawled' };
  }
}
