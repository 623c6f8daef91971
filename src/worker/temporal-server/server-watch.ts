import { closeSync, existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from '../../files/process-identity.js';
import { LockBusy, withLock } from '../../files/process-lock.js';
import { inUse, readRecord, removeRecord, type ServerFiles, type ServerRecord } from './server-files.js';
import { boundLog, databaseHolder, endProcess, endServer, startServer } from './server-process.js';

const POLL_MS = 2_000;
const LOCK_WAIT_MS = 10 * 60_000;
/** A server that can't live, on a damaged database for one, is not started for ever. */
const MOST_RESTARTS = 5;
const RESTART_WINDOW_MS = 5 * 60_000;

/** What a watcher is told. */
export interface Watch {
  readonly files: ServerFiles;
  /** Milliseconds between the end of the last user and that of the server. */
  readonly lingerMs: number;
  /** The inherited lock that says there is a watcher; null where locks are not inherited. */
  readonly lockFd: number | null;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Holds the embedded server of a folder: starts it again, at the same port, when it dies while somebody uses it, and ends it a
 * while after the last user is gone, killed or not. Resolves when nothing of it is left.
 */
export async function watchServer({ files, lingerMs, lockFd, env }: Watch): Promise<void> {
  const pollMs = Math.min(POLL_MS, Math.max(50, lingerMs / 4));
  const restarts: number[] = [];
  let known: ServerRecord | null = null;
  let idleSince: number | null = null;

  const startAgain = async (now: number) => {
    while (restarts[0] !== undefined && restarts[0] < now - RESTART_WINDOW_MS) restarts.shift();
    if (restarts.length >= MOST_RESTARTS) return;
    const dead = readRecord(files);
    // Gone, replaced or alive by now: whoever held the lock has seen to it.
    if (dead === null || isAlive(dead.pid, dead.startTime) || !inUse(files)) return;
    restarts.push(now);
    const { binary, version, port, uiPort } = dead;
    await startServer(files, { binary, version, port, uiPort }, env);
  };

  for (;;) {
    await delay(pollMs);
    // The folder was deleted: the server works on a file that nobody will ever find again.
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
        await orSay(withLock(files.lock, () => startAgain(now), { waitMs: 0 }));
      }
      continue;
    }
    idleSince ??= now;
    if (now - idleSince < lingerMs) continue;
    const ended = await withLock(files.lock, () => endUnused(files, lockFd), { waitMs: LOCK_WAIT_MS });
    if (ended) return;
  }
}

async function endUnused(files: ServerFiles, lockFd: number | null): Promise<boolean> {
  if (inUse(files)) return false;
  const record = readRecord(files);
  if (record !== null) await endProcess(record);
  await endServer(files);
  removeRecord(files);
  // Given back under the folder's lock: whoever comes next sees that there is no watcher and starts one.
  if (lockFd !== null) closeSync(lockFd);
  return true;
}

/** A failed start is no reason to leave the folder without a watcher; its reason goes to the server's log. */
async function orSay(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof LockBusy)) console.error(error);
  }
}
