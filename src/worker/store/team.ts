import { createHash } from 'node:crypto';
import type { OtherLimit } from '../../core/text/presence.js';
import type { Secret } from '../../core/text/secret.js';
import type { RuntimeConfig } from '../config/runtime-types.js';

/** Fingerprint of a key, for names of files and rows: says nothing about the key. */
export function fingerprint(apiKey: Secret | null): string {
  return apiKey === null
    ? 'keyless'
    : createHash('sha256').update(`searchflow limiter\n${apiKey.reveal()}`).digest('hex').slice(0, 16);
}

/** What a worker says of those beside it that have a limit of their own; null where there are none. */
export function otherLimitsText(others: readonly OtherLimit[]): string | null {
  if (others.length === 0) return null;
  const who = others.map(({ host, pid }) => `PID ${pid} on ${host}`).join(', ');
  return (
    `Warning: workers with another key are on this task queue and store (${who}). They keep to a rate limit and a budget of their own, ` +
    'and any of them may run a part of a job. Give all of them the same SEARCHFLOW_TEAM (option team) to share one.'
  );
}

/**
 * Whose rate limit and money it is: the team by its name, else each key by its fingerprint, at this service. What a sandbox sells
 * costs nobody anything, so that is a team of its own.
 */
export function teamOf({ origin, team, apiKey }: Pick<RuntimeConfig, 'origin' | 'team' | 'apiKey'>): string {
  return origin === 'sandbox' ? origin : `${team ?? `key ${fingerprint(apiKey)}`} at ${origin}`;
}
