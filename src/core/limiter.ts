/** What a call draws from the team's rate limit. */
export interface Draw {
  /** Rate class of the operation, such as `contents`; the profile says which buckets it draws from. */
  readonly rateClass: string;
  /** Units: 1 for most calls, 2 for an agent start, 0 for polling, which skips the meter but never a block. */
  readonly weight: number;
}

/** A place on the meter. `startAt` is in the limiter's own clock and at most 250 ms ahead. */
export interface Grant {
  readonly draw: Draw;
  readonly startAt: number;
}

/** What a limiter shows of itself. Times are Unix milliseconds. */
export interface LimiterView {
  readonly profile: string;
  readonly qps: number;
  readonly blockedUntil: number | null;
  readonly blockReason: string | null;
  readonly waiting: number;
}

/**
 * The team's rate limit (interface section 8), whoever calls. Keyed by origin and key fingerprint.
 * Use: `acquire`, write down what is about to be bought, `start`, send.
 */
export interface Limiter {
  /** Waits its turn, first come first served. Rejects with the signal's reason when aborted. */
  acquire(draw: Draw, signal?: AbortSignal): Promise<Grant>;
  /**
   * Waits until the grant's moment. `blocked` means that a block began meanwhile: the grant is void, nothing may be
   * sent, ask for another.
   */
  start(grant: Grant, signal?: AbortSignal): Promise<'go' | 'blocked'>;
  /** Holds back every call of the team for `ms` from now. A shorter block never ends a longer one. */
  block(ms: number, reason: string): Promise<void>;
  view(): Promise<LimiterView>;
  close(): Promise<void>;
}

/** Waits for a place on the meter and for its moment; a block that begins meanwhile voids the place, and another is taken. */
export async function takeTurn(limiter: Limiter, draw: Draw, signal?: AbortSignal): Promise<void> {
  let grant: Grant;
  do {
    grant = await limiter.acquire(draw, signal);
  } while ((await limiter.start(grant, signal)) === 'blocked');
}
