import { choose, fraction, hashText, mix } from '../base/hash.js';

/** Result of fetching one URL. */
export type Crawl =
  | { readonly status: 'success'; readonly source: 'cached' | 'crawled' }
  | { readonly status: 'error'; readonly tag: string; readonly httpStatusCode: number | null };

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

/** Freshness options of a request. */
export interface Freshness {
  readonly maxAgeHours?: number | undefined;
  readonly livecrawl?: string | undefined;
}

export interface CrawlOptions {
  readonly seed: number;
  readonly failureRate: number;
  readonly failures: Readonly<Record<string, string>>;
  readonly transientFailures: number | null;
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
  readonly #options: CrawlOptions;
  readonly #failures: ReadonlyMap<string, string>;
  readonly #attempts = new Map<string, number>();

  constructor(options: CrawlOptions) {
    this.#options = options;
    this.#failures = new Map(Object.entries(options.failures));
  }

  /** Deletes the record of transient failures. */
  reset(): void {
    this.#attempts.clear();
  }

  /** `hash`: `hashText(url, seed)`, if the caller has calculated it already. */
  crawl(url: string, freshness: Freshness, hash = hashText(url, this.#options.seed)): Crawl {
    const failure = this.#failureOf(url, hash);
    if (failure && !this.#heals(url, failure)) {
      return { status: 'error', tag: failure.tag, httpStatusCode: failure.httpStatusCode };
    }
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
  #find(hash: number, { maxAgeHours, livecrawl }: Freshness): Crawl {
    const ageHours = mix(hash, 53) % 10 === 0 ? Number.POSITIVE_INFINITY : mix(hash, 54) % 720;
    const cacheOnly = maxAgeHours === -1 || (maxAgeHours === undefined && livecrawl === 'never');
    if (cacheOnly) {
      if (ageHours === Number.POSITIVE_INFINITY) {
        return { status: 'error', tag: unavailable.tag, httpStatusCode: unavailable.httpStatusCode };
      }
      return { status: 'success', source: 'cached' };
    }
    const always = maxAgeHours === undefined && livecrawl === 'always';
    const preferred = maxAgeHours === undefined && livecrawl === 'preferred';
    const maxAge = always ? 0 : preferred ? 1 : (maxAgeHours ?? 720);
    return { status: 'success', source: ageHours >= maxAge ? 'crawled' : 'cached' };
  }
}
