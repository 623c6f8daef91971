/**
 * One request to the service, which tests check. Times are milliseconds since the start of the sandbox, by a monotonic clock.
 */
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

/** The entry of a request in progress. */
export type OpenEntry = { -readonly [Name in keyof RequestLogEntry]: RequestLogEntry[Name] };

/** The last requests, in the order of their arrival. */
export class RequestLog {
  readonly #keep: number;
  readonly #byStatus = new Map<number, number>();
  #entries: OpenEntry[] = [];
  readonly #began = performance.now();
  #count = 0;
  #limited = 0;

  /** Keeps at least `keep` entries. */
  constructor(keep: number) {
    this.#keep = keep;
  }

  /** Milliseconds since the start, by a monotonic clock. */
  now(): number {
    return performance.now() - this.#began;
  }

  get count(): number {
    return this.#count;
  }

  get limited(): number {
    return this.#limited;
  }

  /** Number of requests by final status. */
  byStatus(): Record<string, number> {
    return Object.fromEntries([...this.#byStatus].sort(([left], [right]) => left - right));
  }

  open(method: string, path: string): OpenEntry {
    this.#count += 1;
    const at = this.now();
    const entry: OpenEntry = {
      n: this.#count,
      at,
      doneAt: null,
      method,
      path,
      status: 0,
      units: 0,
      fault: null,
      limited: false,
    };
    this.#entries.push(entry);
    // A quarter of the entries is removed at a time. Removing single entries would move the whole list for each request.
    if (this.#entries.length > this.#keep * 1.25) this.#entries = this.#entries.slice(-this.#keep);
    return entry;
  }

  /** Marks a request as ended. Does nothing if the request has ended already. */
  done(entry: OpenEntry, status: number): void {
    if (entry.doneAt !== null) return;
    entry.doneAt = this.now();
    entry.status = status;
    if (entry.limited) this.#limited += 1;
    this.#byStatus.set(status, (this.#byStatus.get(status) ?? 0) + 1);
  }

  /** Entries from number `from` on, oldest first; at most the last `keep` entries. */
  since(from = 1): readonly RequestLogEntry[] {
    const first = this.#entries[0]?.n ?? 1;
    const kept = Math.max(0, this.#entries.length - this.#keep);
    return this.#entries.slice(Math.max(kept, from - first));
  }

  reset(): void {
    this.#entries = [];
    this.#count = 0;
    this.#limited = 0;
    this.#byStatus.clear();
  }
}
