import { bucketsFor, type RateProfile, wholeUnits } from '../../core/limiter/rate.js';

interface RatedRequest {
  readonly path: string;
  /** The request's rate cost. */
  readonly weight: number;
  /** `type` in the request's body. The limit may depend on it: a deep search has a limit of its own. */
  readonly type: unknown;
  /** The request's key. */
  readonly key: string | null;
}

/**
 * The rate limit: a strict window for each bucket of the profile. A bucket that belongs to a key has a window for each key.
 * Without a profile all requests are admitted and counted.
 */
export class RateGate {
  readonly #profile: RateProfile | null;
  readonly #windows = new Map<string, RateWindow>();
  #all = new RateWindow(null);

  constructor(profile: RateProfile | null) {
    this.#profile = profile;
  }

  /** Highest rate cost of the requests admitted in one second, over all classes. */
  get max(): number {
    return this.#all.max;
  }

  /** Whether the class of a request to this path depends on its body. */
  needsBody(path: string): boolean {
    const distinguished = this.#profile?.buckets.some(({ classes }) => classes.includes('search.deep'));
    return path === '/search' && distinguished === true;
  }

  /** Admits a request at the time `now` (ms of a monotonic clock). If the request would exceed a limit, returns that limit instead. */
  admit(now: number, request: RatedRequest): string | null {
    const buckets = this.#profile === null ? [] : bucketsFor(this.#profile, rateClassOf(request));
    const windows = buckets.map((bucket) => {
      const name = bucket.of === 'key' ? `${bucket.name} ${request.key}` : bucket.name;
      const window = this.#windows.get(name) ?? new RateWindow(wholeUnits(bucket));
      this.#windows.set(name, window);
      return window;
    });
    const full = windows.findIndex((window) => !window.fits(now, request.weight));
    const bucket = buckets[full];
    if (bucket) return `${wholeUnits(bucket)} requests per second (${bucket.name})`;
    for (const window of [...windows, this.#all]) window.admit(now, request.weight);
    return null;
  }

  reset(): void {
    this.#windows.clear();
    this.#all = new RateWindow(null);
  }
}

/** Classes of the public table. */
function rateClassOf({ path, type }: RatedRequest): string {
  const [, first = ''] = path.split('/');
  if (first === 'search') return typeof type === 'string' && type.startsWith('deep') ? 'search.deep' : 'search';
  return ['contents', 'answer', 'agent', 'websets'].includes(first) ? first : 'default';
}

/** Length of the window. The limit holds in every period of one second. */
const windowMs = 1000;

/**
 * A strict sliding window: a request is admitted at `now` only if fewer than `limit` were admitted in the second before it (from
 * `now - 1000 ms`, exclusive, to `now`). Refused requests do not count. Times are of one monotonic clock.
 */
export class RateWindow {
  readonly #limit: number;
  readonly #times: number[] = [];
  /** Highest rate cost of the requests admitted in one second. */
  max = 0;

  /** `limit`: whole number of requests a second; null: no limit. Admitted requests are counted in both cases. */
  constructor(limit: number | null) {
    this.#limit = limit ?? Number.POSITIVE_INFINITY;
  }

  /** Whether a request of this rate cost may be admitted now. A rate cost above the limit is reduced to the limit. */
  fits(now: number, weight = 1): boolean {
    while (now - (this.#times[0] ?? now) >= windowMs) this.#times.shift();
    return this.#times.length + Math.min(weight, this.#limit) <= this.#limit;
  }

  admit(now: number, weight = 1): boolean {
    if (!this.fits(now, weight)) return false;
    for (let unit = Math.min(weight, this.#limit); unit > 0; unit -= 1) this.#times.push(now);
    this.max = Math.max(this.max, this.#times.length);
    return true;
  }
}
