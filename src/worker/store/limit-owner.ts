import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../files/make-folder.js';
import { ownIdentity } from '../../files/process-identity.js';
import { lockHolder, tryLock } from '../../files/process-lock.js';
import { writeDurably } from '../../files/write-durably.js';
import type { BlockMemory } from '../../store/limiter/memory-limiter.js';
import type { Reservation } from '../../store/limiter/reserved-limiter.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { teamOf } from './team.js';

type Whose = Pick<RuntimeConfig, 'userStateDir' | 'origin' | 'team' | 'apiKey' | 'rateIsShare'>;

/** Takes the limit for workers on other machines, too; answers with the way to give it back, or with who has it. */
export type TakeElsewhere = () => Promise<(() => Promise<void>) | { readonly heldBy: string }>;

/**
 * The limit of a team, which the processes of one user on a machine have one at a time, each while it sends; through Temporal those of
 * other machines, too. Null where this process has a share of its own.
 */
export function reserveLimit(whose: Whose): LimitReservation | null {
  return whose.rateIsShare ? null : new LimitReservation(whose);
}

/** Temporal is asked so often whether the limit is free there. */
const ELSEWHERE_EVERY_MS = 2000;

export class LimitReservation implements Reservation {
  readonly #whose: Whose;
  readonly #path: string;
  readonly #me = JSON.stringify(ownIdentity());
  #elsewhere: TakeElsewhere | null = null;
  #askElsewhereAt = 0;
  #heldElsewhere = '';
  #releases: (() => Promise<void> | void)[] = [];

  constructor(whose: Whose) {
    this.#whose = whose;
    this.#path = limitPath(whose);
  }

  /** From now on the limit is taken there as well; null: no longer, and what was taken there is given back. */
  async alsoTake(elsewhere: TakeElsewhere | null): Promise<void> {
    this.#elsewhere = elsewhere;
    if (elsewhere === null) await this.release();
  }

  async take() {
    const now = performance.now();
    if (now < this.#askElsewhereAt) return { heldBy: this.#heldElsewhere };
    const lock = tryLock(this.#lockPath);
    if (!lock) return { heldBy: this.#who(lockHolder(this.#lockPath)?.pid) };
    try {
      const taken = (await this.#elsewhere?.()) ?? null;
      if (taken !== null && 'heldBy' in taken) {
        lock.release();
        this.#askElsewhereAt = performance.now() + ELSEWHERE_EVERY_MS;
        this.#heldElsewhere = taken.heldBy;
        return taken;
      }
      this.#releases = [() => lock.release(), ...(taken === null ? [] : [taken])];
    } catch (error) {
      lock.release();
      throw error;
    }
    const usedByOthers = this.#elsewhere !== null || this.#lastUser() !== this.#me;
    writeFileSync(this.#lastPath, this.#me, { mode: 0o600 });
    return { usedByOthers };
  }

  async release(): Promise<void> {
    // The lock last: whoever has it asks Temporal next.
    for (const release of this.#releases.splice(0).reverse()) await release();
  }

  get #lockPath(): string {
    return `${this.#path}.lock`;
  }

  get #lastPath(): string {
    return `${this.#path}.last.json`;
  }

  #lastUser(): string | null {
    try {
      return readFileSync(this.#lastPath, 'utf8');
    } catch {
      return null;
    }
  }

  #who(pid: number | undefined): string {
    return (
      `the rate limit of this key at ${this.#whose.origin}: another process of yours${pid === undefined ? '' : ` (PID ${pid})`} sends ` +
      'with it from another folder. --qps gives each its share; SEARCHFLOW_STORE=postgres://… lets both share one'
    );
  }
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
