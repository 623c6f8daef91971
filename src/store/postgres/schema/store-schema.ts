import type { Schema } from '../../../postgres/index.js';
import { alerts } from './alerts.js';
import { answers } from './answers.js';
import { claims } from './claims.js';
import { intents } from './intents.js';
import { limiterBuckets } from './limiter-buckets.js';
import { limiterTurns } from './limiter-turns.js';
import { processes } from './processes.js';
import { purchases } from './purchases.js';
import { sharedWork } from './shared-work.js';
import { slots } from './slots.js';
import { spend } from './spend.js';
import { units } from './units.js';

const parts = [
  processes,
  purchases,
  units,
  claims,
  spend,
  intents,
  answers,
  sharedWork,
  limiterBuckets,
  limiterTurns,
  slots,
  alerts,
];

/**
 * The schema of the store. Keys are the 32 hex digits of a unit key; `*_ms` are Unix milliseconds of the calling process, `timestamptz` values
 * are of the database's clock; amounts are micro-dollars.
 *
 * Every function resolves unqualified names only in PostgreSQL's own schema, regardless of the session. The store's own names are qualified.
 * A later migration that creates or replaces a function must set its search_path, too.
 */
export const storeSchema: Schema = {
  kind: 'store',
  create: (schema) => parts.map((part) => part(schema)).join(''),
  migrations: [],
};
