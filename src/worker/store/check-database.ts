import { openPostgres, PostgresAway, PostgresRefused, parseAddress } from '../../postgres/index.js';
import { WAREHOUSE_SCHEMA } from '../../warehouse/index.js';
import type { DatabaseAddress, RuntimeConfig } from '../config/runtime-types.js';

/** A restart of a database takes seconds; an address that never worked is told before a person gives up. */
const PATIENCE_MS = 30_000;

/**
 * Why a warehouse's database can't be reached, after waiting a little for it, or null where it can. One that refuses is there: what is
 * wrong with the login, whoever loads tells with the way out.
 */
export async function whyAway(
  database: DatabaseAddress,
  say: RuntimeConfig['say'],
  patienceMs = PATIENCE_MS,
): Promise<string | null> {
  const problem = await problemWith(database, say, patienceMs);
  return problem instanceof PostgresAway ? problem.message : null;
}

/** Why a warehouse's database refuses the login that is known here, or null where it doesn't, or is away. */
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
