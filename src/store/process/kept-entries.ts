import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { z } from 'zod';
import { UsageError } from '../../core/errors/coded-error.js';
import {
  type Allowed,
  allowed,
  type JobEntry,
  jobEntry,
  type OwnedWork,
  type Owner,
  ownedWork,
  type WalkEntry,
  walkEntry,
} from '../../core/job-entry-schemas.js';
import { isLocked, type ProcessLock, tryLock } from '../../files/process-lock.js';

/** An entry cannot be read. Its job or walk is left alone; all other entries are listed. */
class EntryDamaged extends UsageError {
  constructor(message: string) {
    super('state-damaged', message);
  }
}

/** Parses the entries of jobs and walks; reports each damaged entry once. */
export class KeptEntries {
  readonly #say: (sentence: string) => void;
  readonly #reported = new Set<string>();

  constructor(say: (sentence: string) => void) {
    this.#say = say;
  }

  /** Parses the entry of a job. `name` names the entry, `remedy` says how to remove it. Throws `EntryDamaged`. */
  job(read: () => string, name: string, remedy: string): JobEntry {
    return parsed(
      jobEntry,
      read,
      `${name} is damaged. ${remedy} and run the job's command again (nothing is bought twice).`,
    );
  }

  /** Parses the entry of a walk; see `job`. */
  walk(read: () => string, name: string, remedy: string): WalkEntry {
    return parsed(
      walkEntry,
      read,
      `${name} is damaged. ${remedy}; the next run of its events command writes it again.`,
    );
  }

  /**
   * Returns the owners of work; null if the entry cannot be read. The work then has no owner, and the next claim writes the entry again.
   */
  owned(read: () => string): OwnedWork | null {
    try {
      return parsed(ownedWork, read, '');
    } catch {
      return null;
    }
  }

  /** Returns the recorded names; no names if the text cannot be read. Commands write the names again. */
  allowed(text: string): readonly Allowed[] {
    try {
      return parsed(allowed.array(), () => text, '');
    } catch {
      return [];
    }
  }

  /** Returns the result of `read`; null for a damaged entry, which is reported once. */
  unlessDamaged<T>(read: () => T): T | null {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof EntryDamaged)) throw error;
      if (!this.#reported.has(error.message)) this.#say(error.message);
      this.#reported.add(error.message);
      return null;
    }
  }
}

function parsed<T>(schema: z.ZodType<T>, read: () => string, damaged: string): T {
  try {
    return schema.parse(JSON.parse(read()));
  } catch {
    throw new EntryDamaged(damaged);
  }
}

/** Locks of the living owners of work on this machine. Each owner has one file, which the system unlocks when the owner's process dies. */
export class OwnerLocks {
  readonly #dir: string;
  #mine: { readonly owner: Owner; readonly lock: ProcessLock | null } | null = null;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Returns this process as an owner. The first call takes the lock of the process. */
  owner(): Owner {
    if (this.#mine === null) {
      const id = randomUUID();
      this.#mine = { owner: { id, host: hostname(), pid: process.pid }, lock: tryLock(this.#path(id)) };
    }
    return this.#mine.owner;
  }

  /** Whether an owner is alive; null if the owner's lock is not on this machine. */
  lives({ id }: Owner): boolean | null {
    return isLocked(this.#path(id));
  }

  forget({ id }: Owner): void {
    rmSync(this.#path(id), { force: true });
  }

  close(): void {
    const mine = this.#mine;
    if (mine === null) return;
    this.#mine = null;
    mine.lock?.release();
    this.forget(mine.owner);
  }

  #path(id: string): string {
    return join(this.#dir, `${id.replace(/[^\w-]/g, '')}.lock`);
  }
}
