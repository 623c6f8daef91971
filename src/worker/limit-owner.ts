import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../files/make-folder.js';
import { lockHolder, tryLock } from '../files/process-lock.js';
import { writeDurably } from '../files/write-durably.js';
import type { BlockMemory } from '../store/memory-limiter.js';
import { type RuntimeConfig, UsageError } from './runtime-types.js';
import { sha256 } from './sha256.js';
import { teamOf } from './team.js';

type Whose = Pick<RuntimeConfig, 'userStateDir' | 'origin' | 'team' | 'apiKey' | 'rateIsShare'>;

/** This process's right to a team's limit. */
export interface LimitOwner {
  release(): void;
}

/**
 * Takes the limit of a team for this process. Where another process of this user holds it, the second is told who does, unless it
 * was given a share of the limit by `--qps`.
 */
export function ownLimit(whose: Whose): LimitOwner {
  const lockPath = `${limitPath(whose)}.lock`;
  const lock = tryLock(lockPath);
  if (!lock && !whose.rateIsShare) {
    const pid = lockHolder(lockPath)?.pid;
    throw new UsageError(
      `Another process${pid === undefined ? '' : ` (PID ${pid})`} of yours already uses this key's whole rate limit at ` +
        `${whose.origin}, in another folder. Wait for it, give each process its share with --qps, or let both share a ` +
        'PostgreSQL (SEARCHFLOW_STORE=postgres://…)',
    );
  }
  return { release: () => lock?.release() };
}

/** A team's block, which outlives the process that met it. */
export function blockFile(whose: Whose): BlockMemory {
  const path = `${limitPath(whose)}.block.json`;
  let last: Promise<unknown> = Promise.resolve();
  return {
    load() {
      try {
        const kept = JSON.parse(readFileSync(path, 'utf8')) as { until?: unknown; at?: unknown; reason?: unknown };
        const { until, at, reason } = kept;
        if (typeof until !== 'number') return null;
        // Where the clock went back meanwhile, the block is no longer than it was.
        const most = typeof at === 'number' ? Date.now() + until - at : until;
        return { until: Math.min(until, most), reason: String(reason) };
      } catch {
        // No file, or none of ours: then there is no block to keep.
        return null;
      }
    },
    save(until, reason) {
      // One after the other: the latest block is the one that is kept.
      const write = () => writeDurably(path, JSON.stringify({ until, at: Date.now(), reason }));
      const saved = last.then(write, write);
      last = saved.catch(() => undefined);
      return saved;
    },
  };
}

function limitPath(whose: Whose): string {
  const dir = join(whose.userStateDir, 'limits');
  makeFolder(dir);
  return join(dir, sha256(teamOf(whose)).slice(0, 24));
}
