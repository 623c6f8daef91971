/** One request to the service, which tests check. Times are milliseconds since the start of the sandbox, by a monotonic clock. */
export interface RequestLogEntry {
  /** Number of the request, from 1. */
  readonly n: number;
  /** Time when the headers of the request were read. The rate limit counts from this time. */
  readonly at: number;
  /** Time when the answer was sent or the connection was closed; null while the request is in progress. */
  readonly doneAt: number | null;
  readonly method: string;
  readonly path: string;
  /** HTTP status that was sent; 0 for none. */
  readonly status: number;
  /** Units that the request bought, whether or not its answer arrived. */
  readonly units: number;
  /** The fault that was applied to the request, such as `reset:after`. */
  readonly fault: string | null;
  /** Whether the rate limit refused the request. A declared fault with status 429 does not count. */
  readonly limited: boolean;
}

export type OpenEntry = { -readonly [Name in keyof RequestLogEntry]: RequestLogEntry[Name] };

/** The last requests, in the order of their arrival. */
export class RequestLog {
  readonly #keep: number;
  readonly #began = performance.now();
  #entries: OpenEntry[] = [];
  /** Counts of all requests since the start or the last reset. */
  counts = { requests: 0, byStatus: {} as Record<string, number>, limited: 0 };

  /** Keeps at least `keep` entries. */
  constructor(keep: number) {
    this.#keep = keep;
  }

  /** Milliseconds since the start, by a monotonic clock. */
  now(): number {
    return performance.now() - this.#began;
  }

  open(method: string, path: string): OpenEntry {
    this.counts.requests += 1;
    const { requests: n } = this.counts;
    const own = { doneAt: null, status: 0, units: 0, fault: null, limited: false };
    const entry: OpenEntry = { n, at: this.now(), method, path, ...own };
    this.#entries.push(entry);
    // A quarter of the entries is removed at a time. Removing single entries would move the whole list for each request.
    if (this.#entries.length > this.#keep * 1.25) this.#entries = this.#entries.slice(-this.#keep);
    return entry;
  }

  done(entry: OpenEntry, status: number): void {
    const { byStatus } = this.counts;
    entry.doneAt = this.now();
    entry.status = status;
    if (entry.limited) this.counts.limited += 1;
    byStatus[status] = (byStatus[status] ?? 0) + 1;
  }

  /** Entries from number `from` on, oldest first; at most the last `keep` entries. */
  since(from = 1): readonly RequestLogEntry[] {
    const first = this.#entries[0]?.n ?? 1;
    const kept = Math.max(0, this.#entries.length - this.#keep);
    return this.#entries.slice(Math.max(kept, from - first));
  }

  reset(): void {
    this.#entries = [];
    this.counts = { requests: 0, byStatus: {}, limited: 0 };
  }
}
