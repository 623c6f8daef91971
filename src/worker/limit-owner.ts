import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Secret } from '../core/secret.js';
import type { BlockMemory } from '../store/memory-limiter.js';
import { lockHolder, tryLock } from '../store/process-lock.js';
import { UsageError } from './runtime-types.js';

/** Fingerprint of a key, for names of files: says nothing about the key. */
export function fingerprint(apiKey: Secret | null): string {
  return apiKey === null
    ? 'keyless'
    : createHash('sha256').update(`searchflow limiter\n${apiKey.reveal()}`).digest('hex').slice(0, 16);
}

/** This process's right to a team's limit, and the block that outlives it. */
export interface LimitOwner {
  readonly memory: BlockMemory;
  release(): void;
}

/**
 * Takes the limit of an origin and key for this process. Where another process of this user holds it, the second is told who
 * does, unless it was given a share of the limit by `--qps`.
 */
export function ownLimit(dir: string, origin: string, apiKey: Secret | null, isShare: boolean): LimitOwner {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const name = createHash('sha256')
    .update(`${origin}\n${fingerprint(apiKey)}`)
    .digest('hex')
    .slice(0, 24);
  const lockPath = join(dir, `${name}.lock`);
  const lock = tryLock(lockPath);
  if (!lock && !isShare) {
    const pid = lockHolder(lockPath)?.pid;
    throw new UsageError(
      `Another process${pid === undefined ? '' : ` (PID ${pid})`} of yours already uses this key's whole rate limit at ${origin}, ` +
        'in another folder. Wait for it, or give each process its share with --qps',
    );
  }
  return { memory: blockFile(join(dir, `${name}.block.json`)), release: () => lock?.release() };
}

function blockFile(path: string): BlockMemory {
  return {
    load() {
      try {
        const { until, reason } = JSON.parse(readFileSync(path, 'utf8')) as { until?: unknown; reason?: unknown };
        return typeof until === 'number' ? { until, reason: String(reason) } : null;
      } catch {
        // No file, or one that was being written when the process died: then there is no block to keep.
        return null;
      }
    },
    save(until, reason) {
      const draft = `${path}.${process.pid}`;
      writeFileSync(draft, JSON.stringify({ until, reason }), { mode: 0o600 });
      renameSync(draft, path);
    },
  };
}
