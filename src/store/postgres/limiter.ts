import { QueuedLimiter } from '../limiter/queued-limiter.js';
import { type PgLimiterOptions, PgRateSource } from './pg-rate-source.js';

export type { PgLimiterOptions } from './pg-rate-source.js';

/**
 * The team's limiter for many processes, with its rings and its block in PostgreSQL. A request for turns is one statement. The limiter
 * connects on first use; closing the limiter does not close `postgres`.
 */
export class PgLimiter extends QueuedLimiter {
  constructor(options: PgLimiterOptions) {
    super(new PgRateSource(options));
  }
}
