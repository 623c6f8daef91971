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
import { makeFolder } from './make-folder.js';
import { isAlive, ownIdentity, type ProcessIdentity, processStartTime, toIdentity } from './process-identity.js';

/** The one function used of `fs-native-extensions`, which ships no types. */
interface NativeLocks {
  tryLock(fd: number, offset: number, length: number): boolean;
}

// Beyond any content: Windows keeps others from reading the bytes that are locked.
const LOCKED_BYTE = 0x4000_0000;
const POLL_MS = 75;
const QUIET_WAIT_MS = 1_000;

/** A lock of the operating system that this process holds; it ends with the process, however that dies. */
export interface ProcessLock {
  /** The open lock. A child process that inherits it (as `stdio`) holds the lock too, until the last of them is gone. */
  readonly fd: number;
  /** Gives the lock back. */
  release(): void;
  /** Lets go of it here after a child inherited it: it is the child's now. Not on Windows, where locks are not inherited. */
  handOver(pid: number): void;
}

/** The lock was not given back in time. */
export class LockBusy extends Error {
  override readonly name = 'LockBusy';
  constructor(
    message: string,
    /** Process that holds it, where known. */
    readonly pid: number | null,
  ) {
    super(message);
  }
}

/**
 * Takes the lock of this path, or answers null where somebody holds it, this process included. The file stays when the lock is
 * given back, with mode 0600; missing folders are made with mode 0700. Throws the system's error where the file can't be written, and
 * one with the code `ELOOP` where the path is a link.
 */
export function tryLock(path: string): ProcessLock | null {
  makeFolder(dirname(path));
  const fd = openOwnFile(path);
  try {
    if (!native().tryLock(fd, LOCKED_BYTE, 1)) {
      closeSync(fd);
      return null;
    }
    nameHolder(fd, ownIdentity());
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  let held = true;
  const letGo = (last: () => void) => {
    if (!held) return;
    held = false;
    last();
    closeSync(fd);
  };
  return {
    fd,
    release: () => letGo(() => ftruncateSync(fd)),
    handOver: (pid) => letGo(() => nameHolder(fd, { pid, startTime: processStartTime(pid) })),
  };
}

/** A lock is emptied and written to, so that a link of its name must lead to no other file. */
function openOwnFile(path: string): number {
  const refuse = (cause?: unknown) =>
    Object.assign(new Error(`${path} is a link or no file, and not a lock: remove it`, { cause }), { code: 'ELOOP' });
  let fd: number;
  try {
    // Windows knows no such flag, and lets only administrators make links.
    const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
    fd = openSync(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0o600);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ELOOP' ? refuse(error) : error;
  }
  const found = fstatSync(fd);
  if (found.isFile() && found.nlink < 2) return fd;
  closeSync(fd);
  throw refuse();
}

/** Who holds the lock of this path, for messages; null where nobody does or it can't be told. Only {@link tryLock} decides. */
export function lockHolder(path: string): { readonly pid: number } | null {
  try {
    const holder = toIdentity(JSON.parse(readFileSync(path, 'utf8')));
    return holder !== null && isAlive(holder.pid, holder.startTime) ? { pid: holder.pid } : null;
  } catch {
    // No file, or just being written: nobody can be named.
    return null;
  }
}

/** Whether a process holds the lock of this path, this one included; null where there is no such file. */
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
  /** Told once, after a second, who is waited for. */
  readonly say?: (sentence: string) => void;
  readonly signal?: AbortSignal;
  /** What is locked, for messages; default: the path. */
  readonly what?: string;
  /** The file is removed when the lock is given back. All who take this lock must say so. */
  readonly passing?: boolean;
}

/** Runs `fn` while holding the lock of this path, waiting for it as told. */
export async function withLock<T>(path: string, fn: () => T | Promise<T>, wait: LockWait): Promise<T> {
  const started = performance.now();
  let said = false;
  for (;;) {
    const lock = tryLock(path);
    if (lock !== null && wait.passing && !isAt(path, lock.fd)) {
      // Its last holder removed the file while it was being opened here: that lock keeps nobody out.
      lock.release();
      continue;
    }
    if (lock !== null) {
      try {
        return await fn();
      } finally {
        if (wait.passing && isAt(path, lock.fd)) rmSync(path, { force: true });
        lock.release();
      }
    }
    const waited = performance.now() - started;
    const pid = lockHolder(path)?.pid ?? null;
    const who = pid === null ? 'another process' : `PID ${pid}`;
    if (waited >= wait.waitMs) {
      throw new LockBusy(`${wait.what ?? path} is still held by ${who} after ${Math.round(waited / 1000)} s.`, pid);
    }
    if (!said && waited >= QUIET_WAIT_MS) {
      said = true;
      wait.say?.(`Waiting for ${who}, which holds ${wait.what ?? path}.`);
    }
    await delay(Math.min(POLL_MS, wait.waitMs - waited), undefined, { signal: wait.signal });
  }
}

function isAt(path: string, fd: number): boolean {
  const [there, here] = [statSync(path, { throwIfNoEntry: false, bigint: true }), fstatSync(fd, { bigint: true })];
  return there !== undefined && there.dev === here.dev && there.ino === here.ino;
}

function nameHolder(fd: number, holder: ProcessIdentity): void {
  ftruncateSync(fd);
  writeSync(fd, `${JSON.stringify(holder)}\n`);
}

// Loaded on first use: a platform without a prebuilt binary can still use what needs no lock.
function native(): NativeLocks {
  try {
    return createRequire(import.meta.url)('fs-native-extensions') as NativeLocks;
  } catch (cause) {
    throw new Error(`File locks (fs-native-extensions) can't be loaded on ${process.platform} ${process.arch}.`, {
      cause,
    });
  }
}
