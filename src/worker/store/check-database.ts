import { WAREHOUSE_SCHEMA } from '../../core/connections/postgres-address.js';
import { openPostgres, PostgresAway, PostgresRefused, parseAddress } from '../../postgres/index.js';
import type { DatabaseAddress } from '../config/database-setting.js';
import type { RuntimeConfig } from '../config/runtime-types.js';

/** Longest wait for a database: longer than a restart, and short enough for a person who has mistyped an address. */
const PATIENCE_MS = 30_000;

/**
 * Why a warehouse's database cannot be reached, after waiting up to `patienceMs`; null if it can be reached. A database that refuses the
 * login counts as reachable: the worker that loads reports the refusal.
 */
export async function whyAway(
  database: DatabaseAddress,
  say: RuntimeConfig['say'],
  patienceMs = PATIENCE_MS,
): Promise<string | null> {
  const problem = await problemWith(database, say, patienceMs);
  return problem instanceof PostgresAway ? problem.message : null;
}

/** Why a warehouse's database refuses the login; null if the database accepts the login or cannot be reached. */
export async function whyRefused(database: DatabaseAddress, say: RuntimeConfig['say']): Promise<string | null> {
  const problem = await problemWith(database, say, PATIENCE_MS);
  return problem instanceof PostgresRefused ? problem.message : null;
}

async function problemWith({ url }: DatabaseAddress, say: RuntimeConfig['say'], patienceMs: number): Promise<unknown> {
  const address = parseAddress(url.reveal(), WAREHOUSE_SCHEMA);
  try {
    const postgres = await openPostgres(address, { applicationName: 'searchflow warehouse', max: 1, patienceMs, say });
    await postgres.query('SELECT 1').finally(() => postgres.close());
    return null;
  } catch (error) {
    return error;
  }
}
