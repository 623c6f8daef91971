import { openPostgres, PostgresAway, parseAddress } from '../postgres/index.js';
import { WAREHOUSE_SCHEMA } from '../sinks/index.js';
import type { DatabaseAddress, RuntimeConfig } from './runtime-types.js';

/** A restart of a database takes seconds; an address that never worked is told before a person gives up. */
const PATIENCE_MS = 30_000;

/**
 * Why a warehouse's database can't be reached, after waiting a little for it, or null where it can. One that refuses is there: what is
 * wrong with the login, whoever loads tells with the way out.
 */
export async function whyAway(
  { url }: DatabaseAddress,
  say: RuntimeConfig['say'],
  patienceMs = PATIENCE_MS,
): Promise<string | null> {
  const address = parseAddress(url.reveal(), WAREHOUSE_SCHEMA);
  const postgres = await openPostgres(address, { applicationName: 'searchflow warehouse', max: 1, patienceMs, say });
  try {
    await postgres.query('SELECT 1');
    return null;
  } catch (error) {
    return error instanceof PostgresAway ? error.message : null;
  } finally {
    await postgres.close();
  }
}
