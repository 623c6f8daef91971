import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Owner } from '../../core/job-entry-schemas.js';
import { isLocked, type ProcessLock, tryLock } from '../../files/process-lock.js';

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
