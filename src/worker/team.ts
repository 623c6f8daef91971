import { createHash } from 'node:crypto';
import type { Secret } from '../core/secret.js';
import type { RuntimeConfig } from './runtime-types.js';

/** Fingerprint of a key, for names of files and rows: says nothing about the key. */
export function fingerprint(apiKey: Secret | null): string {
  return apiKey === null
    ? 'keyless'
    : createHash('sha256').update(`searchflow limiter\n${apiKey.reveal()}`).digest('hex').slice(0, 16);
}

/**
 * Whose rate limit and money it is: the team by its name, else each key by its fingerprint, at this service. What a sandbox sells
 * costs nobody anything, so that is a team of its own.
 */
export function teamOf({ origin, team, apiKey }: Pick<RuntimeConfig, 'origin' | 'team' | 'apiKey'>): string {
  return origin === 'sandbox' ? origin : `${team ?? `key ${fingerprint(apiKey)}`} at ${origin}`;
}
