import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ProcessIdentity, toIdentity } from '../../files/process-identity.js';
import { type ProcessLock, tryLock } from '../../files/process-lock.js';
import { writeDurably } from '../../files/write-durably.js';

/** Paths of the embedded server's files. */
export interface ServerFiles {
  readonly stateDir: string;
  /** SQLite database of the Temporal server. */
  readonly database: string;
  /** Marker that exists while the database is being created and is still empty. */
  readonly unfinished: string;
  readonly log: string;
  readonly record: string;
  /** Lock that each process that uses the server shares. */
  readonly users: string;
  /** Lock that is held while the server is being found, started or ended. */
  readonly lock: string;
  /** Lock that the server inherits and holds: two servers on one database would start and corrupt the database. */
  readonly databaseLock: string;
  /** Lock that the watcher holds. */
  readonly watcherLock: string;
}

/** Paths of the embedded server's files in a state folder. */
export function serverFiles(stateDir: string): ServerFiles {
  return {
    stateDir,
    database: join(stateDir, 'temporal.db'),
    unfinished: join(stateDir, 'temporal.db.unfinished'),
    log: join(stateDir, 'temporal.log'),
    record: join(stateDir, 'server.json'),
    users: join(stateDir, 'users.lock'),
    lock: join(stateDir, 'server.lock'),
    databaseLock: join(stateDir, 'temporal.db.lock'),
    watcherLock: join(stateDir, 'watcher.lock'),
  };
}

/** Contents of `server.json`: the server that was started last. */
export interface ServerRecord extends ProcessIdentity {
  readonly port: number;
  readonly uiPort: number | null;
  readonly version: string;
  /** Path of the program, for a restart by the watcher. */
  readonly binary: string;
}

/** The record; null if it is missing or cannot be read. */
export function readRecord(files: ServerFiles): ServerRecord | null {
  const found = readJson(files.record);
  const identity = toIdentity(found);
  const { port, uiPort, version, binary } = (found ?? {}) as Partial<Record<keyof ServerRecord, unknown>>;
  if (identity === null || typeof port !== 'number' || typeof binary !== 'string') return null;
  return { ...identity, port, uiPort: typeof uiPort === 'number' ? uiPort : null, version: String(version), binary };
}

export async function writeRecord(files: ServerFiles, record: ServerRecord): Promise<void> {
  await writeDurably(files.record, `${JSON.stringify(record)}\n`);
}

export function removeRecord(files: ServerFiles): void {
  rmSync(files.record, { force: true });
}

/** Makes this process a user of the server, until the lock that it gets is released or the process ends. */
export async function enrol({ users }: ServerFiles): Promise<ProcessLock> {
  for (;;) {
    const lock = tryLock(users, true);
    if (lock !== null) return lock;
    // A watcher is looking for users at this moment.
    await delay(10);
  }
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

export const addressOf = (record: Pick<ServerRecord, 'port'>): string => `127.0.0.1:${record.port}`;
