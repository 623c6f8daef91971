import { QueuedLimiter } from '../../limiter/queued-limiter.js';
import { type PgLimiterOptions, PgRateSource } from './pg-rate-source.js';

export type { PgLimiterOptions } from './pg-rate-source.js';

/**
 * The team's limiter for many processes: its rings and its block are in PostgreSQL, one statement an acquisition. Touches the
 * database with the first call or look; closing it leaves the connections to whoever opened them.
 */
export class PgLimiter extends QueuedLimiter {
  constructor(options: PgLimiterOptions) {
    super(new PgRateSource(options));
  }
}
