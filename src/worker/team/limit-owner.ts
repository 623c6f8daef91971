import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Serial } from '../../core/processes/serial.js';
import { makeFolder } from '../../files/make-folder.js';
import { ownIdentity } from '../../files/process-identity.js';
import { lockHolder, tryLock } from '../../files/process-lock.js';
import { writeDurably, writeNamed } from '../../files/write-durably.js';
import type { BlockMemory } from '../../store/limiter/memory-limiter.js';
import type { Reservation } from '../../store/limiter/reserved-limiter.js';
import type { RuntimeConfig } from '../config/runtime-types.js';
import { sha256 } from '../config/sha256.js';
import { teamOf } from './team.js';

type Whose = Pick<RuntimeConfig, 'userStateDir' | 'origin' | 'team' | 'apiKey'>;

/** Takes the limit for all machines. Returns a function that releases the limit, or the process that holds it (`heldBy`). */
export type TakeElsewhere = () => Promise<(() => Promise<void>) | { readonly heldBy: string }>;

/** Interval at which Temporal is asked whether the limit is free. */
const ELSEWHERE_EVERY_MS = 2000;

/**
 * The right of this process to use a rate limit. A process holds the limit while it sends: on a machine, one process of a user; through
 * Temporal, one process of all machines.
 */
export class LimitReservation implements Reservation {
  readonly #whose: Whose;
  readonly #path: string;
  readonly #last: LastUse;
  #elsewhere: TakeElsewhere | null = null;
  #askElsewhereAt = 0;
  #heldElsewhere = '';
  #held = false;
  #releases: (() => Promise<void> | void)[] = [];

  /** `path`: what the names of its files begin with. */
  constructor(whose: Whose, path = limitPath(whose)) {
    this.#whose = whose;
    this.#path = path;
    this.#last = new LastUse(`${this.#path}.last.json`);
  }

  /**
   * From now on also takes the limit with `elsewhere`. With null, releases the limit, and from then on takes the limit only on this
   * machine.
   */
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
    const usedByOthers = this.#elsewhere !== null || this.#last.justNow() === 'another';
    this.#last.begin();
    this.#held = true;
    return { usedByOthers };
  }

  async release(): Promise<void> {
    if (this.#held) this.#last.end();
    this.#held = false;
    // The lock of this machine is released last: its next holder immediately asks Temporal for the limit.
    for (const release of this.#releases.splice(0).reverse()) await release();
  }

  get #lockPath(): string {
    return `${this.#path}.lock`;
  }

  #who(pid: number | undefined): string {
    return (
      `the rate limit of this key at ${this.#whose.origin}, which another process${pid === undefined ? '' : ` (PID ${pid})`} uses from ` +
      'another folder. Give each a share with --qps, or let both share a store (SEARCHFLOW_STORE=postgres://…)'
    );
  }
}

/** A file with the block of a team. The file remains when the blocked process ends. */
export function blockFile(whose: Whose): BlockMemory {
  const path = `${limitPath(whose)}.block.json`;
  /** One write at a time, so that the latest block is kept. */
  const writes = new Serial();
  return {
    load() {
      try {
        const kept = JSON.parse(readFileSync(path, 'utf8')) as { until?: unknown; at?: unknown; reason?: unknown };
        const { until, at, reason } = kept;
        if (typeof until !== 'number') return null;
        // If the clock was set back, the block must not become longer.
        const since = typeof at === 'number' ? at : Date.now();
        return { until: Math.min(until, Date.now() + until - since), at: since, reason: String(reason) };
      } catch {
        // If the file cannot be read, there is no block.
        return null;
      }
    },
    save(until, reason) {
      return writes.run(() => writeDurably(path, JSON.stringify({ until, at: Date.now(), reason })));
    },
  };
}

function limitPath(whose: Whose): string {
  const dir = join(whose.userStateDir, 'limits');
  makeFolder(dir);
  return join(dir, sha256(teamOf(whose)).slice(0, 24));
}

/** Idle time of a limit, in ms, after which its last second is certainly unused. */
const IDLE_MS = 1500;

/** A file with the process that used a limit last, and when it ended its use. */
export class LastUse {
  readonly #path: string;
  readonly #me = JSON.stringify(ownIdentity());

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * The process that may have used the limit in the last second: `me`, or `another`; null: no process of this file. A process that was killed
   * leaves no time of its end, so it counts as using the limit.
   */
  justNow(): 'me' | 'another' | null {
    let last: string;
    try {
      last = readFileSync(this.#path, 'utf8');
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : 'another';
    }
    const [who, ended] = last.split('\n');
    const idleMs = ended === undefined ? 0 : Date.now() - Number(ended);
    if (idleMs > IDLE_MS) return null;
    return who === this.#me ? 'me' : 'another';
  }

  /** Records that this process uses the limit from now on. */
  begin(): void {
    writeNamed(this.#path, this.#me);
  }

  /** Records that the use of this process has ended. */
  end(): void {
    writeNamed(this.#path, `${this.#me}\n${Date.now()}`);
  }
}
