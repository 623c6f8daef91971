import { bucketsFor, limitOf, type RateProfile } from '../../core/limiter/rate.js';
import { RateWindow } from './rate-window.js';

/** A request as the rate limit sees it. */
export interface RatedRequest {
  readonly path: string;
  /** The request's rate cost. */
  readonly weight: number;
  /** `type` in the request's body. The limit may depend on it: a deep search has a limit of its own. */
  readonly type?: unknown;
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
  readonly #all = new RateWindow(null);

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

  /**
   * Admits a request at the time `now` (ms of a monotonic clock). If the request would exceed a limit, returns that limit
   * instead.
   */
  admit(now: number, request: RatedRequest): string | null {
    const buckets = this.#profile === null ? [] : bucketsFor(this.#profile, rateClassOf(request));
    const windows = buckets.map((bucket) => {
      const name = bucket.of === 'key' ? `${bucket.name} ${request.key}` : bucket.name;
      const window = this.#windows.get(name) ?? new RateWindow(limitOf(bucket));
      this.#windows.set(name, window);
      return { bucket, window };
    });
    const full = windows.find(({ window }) => !window.fits(now, request.weight));
    if (full) return `${limitOf(full.bucket)} requests per second (${full.bucket.name})`;
    for (const { window } of [...windows, { window: this.#all }]) window.admit(now, request.weight);
    return null;
  }

  reset(): void {
    this.#windows.clear();
    this.#all.reset();
  }
}

/** Classes of the public table. */
function rateClassOf({ path, type }: RatedRequest): string {
  const [, first = ''] = path.split('/');
  if (first === 'search') return typeof type === 'string' && type.startsWith('deep') ? 'search.deep' : 'search';
  return ['contents', 'answer', 'agent', 'websets'].includes(first) ? first : 'default';
}
