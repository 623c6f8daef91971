import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CodedError } from '../core/errors/coded-error.js';
import type { ErrorCode } from '../core/errors/registry.js';
import { makeFolder } from './make-folder.js';
import { isAlive, ownIdentity, toIdentity } from './process-identity.js';
import { withPath } from './write-durably.js';

/** The functions of `fs-native-extensions` that are used; the package has no types. */
interface NativeLocks {
  tryLock(fd: number, offset: number, length: number, how?: { readonly shared: boolean }): boolean;
  unlock(fd: number, offset: number, length: number): void;
}

// An offset after any content, because Windows does not let other processes read locked bytes.
const LOCKED_BYTE = 0x4000_0000;
const MAX_LOCK_BYTES = 1000;
const POLL_MS = 75;
const QUIET_WAIT_MS = 1_000;

/** A lock of the operating system that this process holds; the lock ends with the process, even on `kill -9`. */
export interface ProcessLock {
  /** File descriptor of the lock. A child process that inherits the descriptor (as `stdio`) holds the lock too; not on Windows. */
  readonly fd: number;
  release(): void;
}

/** The lock was not released in time. */
export class LockBusy extends Error {
  readonly errorCode = 'lock-busy' satisfies ErrorCode;
  override readonly name = 'LockBusy';
  constructor(
    message: string,
    /** PID of the process that holds the lock, if known. */
    readonly pid: number | null,
  ) {
    super(message);
  }
}

/**
 * Takes the lock of this path; returns null if any process, even this process, holds the lock. The file (mode 0600) remains when the lock
 * is released; missing folders are made with mode 0700. Throws the system's error if the file cannot be written, and an error with the
 * code `ELOOP` if the path is a link or another file. `shared`: several processes may hold the lock at once, and none is named.
 */
export function tryLock(path: string, shared = false): ProcessLock | null {
  makeFolder(dirname(path));
  const fd = openOwnFile(path);
  try {
    if (!native().tryLock(fd, LOCKED_BYTE, 1, { shared })) {
      closeSync(fd);
      return null;
    }
    if (!shared) nameHolder(path, fd);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  let held = true;
  return {
    fd,
    release: () => {
      if (!held) return;
      held = false;
      try {
        if (!shared) ftruncateSync(fd);
      } finally {
        closeSync(fd);
      }
    },
  };
}

/** Opens the file of a lock. Links are refused: a lock file is emptied and written to, and a link would lead this write to another file. */
function openOwnFile(path: string): number {
  const refuse = (cause?: unknown) =>
    Object.assign(
      new CodedError(
        'state-damaged',
        `${path} cannot be used as a lock: it is a link, or another file. Remove or rename it`,
        { cause },
      ),
      { code: 'ELOOP' },
    );
  let fd: number;
  try {
    // Windows lacks O_NOFOLLOW, but there only administrators can make links.
    const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
    fd = openSync(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0o600);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ELOOP' ? refuse(error) : error;
  }
  const found = fstatSync(fd);
  // A lock file has one short line, which may be damaged. A file of another program, such as `yarn.lock`, must not be emptied.
  const isShort = () => found.size <= MAX_LOCK_BYTES && !readFileSync(fd, 'utf8').trim().includes('\n');
  if (found.isFile() && found.nlink < 2 && isShort()) return fd;
  closeSync(fd);
  throw refuse();
}

/**
 * The process that holds the lock of this path, for messages; null if no process is known. Only {@link tryLock} finds out whether the lock
 * is held.
 */
export function lockHolder(path: string): { readonly pid: number } | null {
  try {
    const holder = toIdentity(JSON.parse(readFileSync(path, 'utf8')));
    return holder !== null && isAlive(holder.pid, holder.startTime) ? { pid: holder.pid } : null;
  } catch {
    // The file is missing or is being written.
    return null;
  }
}

/** Whether any process, even this process, holds the lock of this path; null if there is no such file. */
export function isLocked(path: string): boolean | null {
  if (!existsSync(path)) return null;
  const lock = tryLock(path);
  lock?.release();
  return lock === null;
}

/** How long {@link withLock} waits. */
export interface LockWait {
  /** Milliseconds after which {@link LockBusy} is thrown. */
  readonly waitMs: number;
  /** Called once, after a second, with a sentence that names the holder. */
  readonly say?: (sentence: string) => void;
  readonly signal?: AbortSignal;
  /** Name of the locked thing, for messages; default: the path. */
  readonly what?: string;
  /** Whether the file is removed when the lock is released. All callers of one lock must set the same value. */
  readonly passing?: boolean;
}

/** Runs `fn` while holding the lock of this path. Throws {@link LockBusy} after `wait.waitMs` milliseconds. */
export async function withLock<T>(path: string, fn: () => T | Promise<T>, wait: LockWait): Promise<T> {
  const started = performance.now();
  let said = false;
  for (;;) {
    const lock = tryLock(path);
    if (lock !== null && wait.passing && !isAt(path, lock.fd)) {
      // The last holder removed the file while it was being opened here, so this lock would exclude no other process.
      lock.release();
      continue;
    }
    if (lock !== null) {
      try {
        return await fn();
      } finally {
        try {
          if (wait.passing && isAt(path, lock.fd)) rmSync(path, { force: true });
        } finally {
          lock.release();
        }
      }
    }
    const waited = performance.now() - started;
    const pid = lockHolder(path)?.pid ?? null;
    const who = pid === null ? 'another process' : `PID ${pid}`;
    if (waited >= wait.waitMs) {
      throw new LockBusy(`${wait.what ?? path} is still locked by ${who} after ${Math.round(waited / 1000)} s.`, pid);
    }
    if (!said && waited >= QUIET_WAIT_MS) {
      said = true;
      wait.say?.(`Waiting for ${who}, which has locked ${wait.what ?? path}.`);
    }
    await delay(Math.min(POLL_MS, wait.waitMs - waited), undefined, { signal: wait.signal });
  }
}

/** Whether the path leads to this open file. */
export function isAt(path: string, fd: number): boolean {
  const [there, here] = [statSync(path, { throwIfNoEntry: false, bigint: true }), fstatSync(fd, { bigint: true })];
  return there !== undefined && there.dev === here.dev && there.ino === here.ino;
}

function nameHolder(path: string, fd: number): void {
  ftruncateSync(fd);
  try {
    writeSync(fd, `${JSON.stringify(ownIdentity())}\n`);
  } catch (error) {
    throw withPath(error, path);
  }
}

// Loaded on first use, so that a platform without a prebuilt binary can still use everything that needs no lock.
export function native(): NativeLocks {
  try {
    return createRequire(import.meta.url)('fs-native-extensions') as NativeLocks;
  } catch (cause) {
    throw new CodedError(
      'installation-incomplete',
      `File locks (fs-native-extensions) cannot be loaded on ${process.platform} ${process.arch}.`,
      { cause },
    );
  }
}
