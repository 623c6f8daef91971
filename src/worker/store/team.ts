import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { Secret } from '../../core/connections/secret.js';
import type { OtherLimit } from '../../core/workflow-result-schemas.js';
import type { DatabaseAddress } from '../config/database-setting.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';

/** Fingerprint of a key, for names of files and rows. The key cannot be derived from it. */
export function fingerprint(apiKey: Secret | null): string {
  return apiKey === null
    ? 'keyless'
    : createHash('sha256').update(`searchflow limiter\n${apiKey.reveal()}`).digest('hex').slice(0, 16);
}

export interface RecordName extends Pick<RuntimeConfig, 'stateDir'> {
  readonly store?: Pick<DatabaseAddress, 'shown'> | null;
}

/** Id of the record of a worker: the database of its store, or its folder on this machine. */
export function recordId({ store, stateDir }: RecordName): string {
  return sha256(JSON.stringify(store?.shown ?? [hostname(), stateDir])).slice(0, 12);
}

/** The identity of a worker for Temporal, which names its record. `own`: the identity without the record. */
export function identityOf(record: string, own = `${process.pid}@${hostname()}`): string {
  return `${own} searchflow:${record}`;
}

/** Warning about workers with another limit; null without such workers. */
export function otherLimitsText(others: readonly OtherLimit[]): string | null {
  if (others.length === 0) return null;
  const who = others.map(({ host, pid }) => `PID ${pid} on ${host}`).join(', ');
  return (
    `Warning: workers with another key use this task queue and store (${who}). They have their own rate limit and budget, and may run ` +
    'parts of the same job. To share one limit and budget, set the same SEARCHFLOW_TEAM (option team) for all of them.'
  );
}

/**
 * Id of the team whose rate limit and budget are used: the name of the team, or else the fingerprint of the key, with the service. The
 * sandbox is one team, because it costs nothing.
 */
export function teamOf({ origin, team, apiKey }: Pick<RuntimeConfig, 'origin' | 'team' | 'apiKey'>): string {
  return origin === 'sandbox' ? origin : `${team ?? `key ${fingerprint(apiKey)}`} at ${origin}`;
}

export function isTeamAt(team: string, origin: string): boolean {
  return team === origin || team.endsWith(` at ${origin}`);
}
