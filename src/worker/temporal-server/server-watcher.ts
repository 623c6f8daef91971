import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from '../../files/process-identity.js';
import { isLocked, LockBusy, type ProcessLock, tryLock, withLock } from '../../files/process-lock.js';
import { readRecord, removeRecord, type ServerFiles, type ServerRecord, serverFiles } from './server-files.js';
import { boundLog, databaseHolder, endProcess, lockDatabase, startServer } from './server-process.js';

// Program of the watcher, a detached Node process that `keepWatcher` starts from the compiled file.
// Arguments: state directory, linger in milliseconds.

const POLL_MS = 2_000;
const PROBE_MS = 500;
const LOCK_WAIT_MS = 10 * 60_000;
/** Most restarts in {@link RESTART_WINDOW_MS}; a server on a damaged database, for example, never stays alive. */
const MOST_RESTARTS = 5;
const RESTART_WINDOW_MS = 5 * 60_000;

/** Arguments of a watcher. */
interface Watch {
  readonly files: ServerFiles;
  /** Milliseconds from the end of the last user to the end of the server. */
  readonly lingerMs: number;
  /** Shows that a watcher is running. */
  readonly lock: ProcessLock;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Watches the embedded server of a folder: restarts the server on the same port if it dies while processes use it, and ends the server
 * `lingerMs` after the last user has ended. Resolves when the server has ended.
 */
async function watchServer({ files, lingerMs, lock, env }: Watch): Promise<void> {
  const pollMs = Math.min(POLL_MS, Math.max(50, lingerMs / 4));
  const restarts: number[] = [];
  let known: ServerRecord | null = null;
  let idleSince: number | null = null;

  const startAgain = async (now: number) => {
    while (restarts[0] !== undefined && restarts[0] < now - RESTART_WINDOW_MS) restarts.shift();
    if (restarts.length >= MOST_RESTARTS) return;
    const dead = readRecord(files);
    // The record is read again: another process held the lock in the meantime and may have ended, replaced or restarted the server.
    if (dead === null || isAlive(dead.pid, dead.startTime) || !inUse(files)) return;
    restarts.push(now);
    const { binary, version, port, uiPort } = dead;
    await startServer(files, { binary, version, port, uiPort }, env);
  };

  for (;;) {
    await delay(pollMs);
    // If the folder was deleted, the server's database is gone, too.
    if (!existsSync(files.stateDir)) {
      for (const lost of [known, databaseHolder(files)]) if (lost !== null) await endProcess(lost);
      return;
    }
    const record = readRecord(files);
    if (known !== null && record !== null && record.pid !== known.pid) await endProcess(known);
    known = record ?? known;
    const now = performance.now();
    if (inUse(files)) {
      idleSince = null;
      boundLog(files);
      if (record !== null && !isAlive(record.pid, record.startTime)) {
        await orLog(withLock(files.lock, () => startAgain(now), { waitMs: 0 }));
      }
      continue;
    }
    idleSince ??= now;
    if (now - idleSince < lingerMs) continue;
    const ended = await withLock(files.lock, () => endUnused(files, lock), { waitMs: LOCK_WAIT_MS });
    if (ended) return;
  }
}

async function endUnused(files: ServerFiles, lock: ProcessLock): Promise<boolean> {
  if (inUse(files)) return false;
  const record = readRecord(files);
  if (record !== null) await endProcess(record);
  (await lockDatabase(files)).release();
  removeRecord(files);
  // The watcher's own lock is released while the folder's lock is held: the next process sees that no watcher is running and starts one.
  lock.release();
  return true;
}

/** Logs a failed restart, so that the watcher keeps running. */
async function orLog(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof LockBusy)) console.error(error);
  }
}

/** Whether a living process uses the server. */
const inUse = ({ users }: ServerFiles): boolean => isLocked(users) === true;

/** Takes the lock of the watcher; null if another watcher has it. */
async function takeLock({ watcherLock }: ServerFiles): Promise<ProcessLock | null> {
  const lock = tryLock(watcherLock);
  if (lock !== null) return lock;
  // A command may hold the lock for a moment, to see whether a watcher has it.
  await delay(PROBE_MS);
  return tryLock(watcherLock);
}

const [stateDir, linger] = process.argv.slice(2);
// A closed terminal, or a Ctrl-C for the command, must not end the watcher.
for (const signal of ['SIGHUP', 'SIGINT'] as const) process.on(signal, () => undefined);
const files = serverFiles(stateDir as string);
const lock = await takeLock(files);
if (lock) await watchServer({ files, lingerMs: Number(linger), lock, env: process.env });
