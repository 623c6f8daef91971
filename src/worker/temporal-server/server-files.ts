import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../files/make-folder.js';
import { isAlive, ownIdentity, type ProcessIdentity, toIdentity } from '../../files/process-identity.js';
import { writeDurably, writeNamed } from '../../files/write-durably.js';

/** Paths of the embedded server's files. */
export interface ServerFiles {
  readonly stateDir: string;
  /** SQLite database of the Temporal server. */
  readonly database: string;
  /** Marker that exists while the database is being created and is still empty. */
  readonly unfinished: string;
  readonly log: string;
  readonly record: string;
  /** Folder with a file for each process that uses the server. */
  readonly users: string;
  /** Lock that is held while the server is being found, started or ended. */
  readonly lock: string;
  /** Lock that the server inherits and holds: two servers on one database would start and corrupt the database. */
  readonly databaseLock: string;
  /** Lock that the watcher inherits and holds. */
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
    users: join(stateDir, 'users'),
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

/** Records that this process uses the server. Returns a function that removes the record. */
export function enrol(files: ServerFiles): () => void {
  makeFolder(files.users);
  const content = `${JSON.stringify(ownIdentity())}\n`;
  // A process may use the server several times, and a dead process with the same PID may have left a file.
  for (let n = 0; ; n++) {
    const path = join(files.users, n === 0 ? `${process.pid}.json` : `${process.pid}-${n}.json`);
    try {
      writeNamed(path, content, { flag: 'wx' });
      return () => rmSync(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** Whether a living process uses the server. Files of dead processes are removed. */
export function inUse(files: ServerFiles): boolean {
  let names: string[] = [];
  try {
    names = readdirSync(files.users);
  } catch {
    // If the folder is gone, no process uses the server.
  }
  return names.filter((name) => stillUsing(join(files.users, name))).length > 0;
}

function stillUsing(path: string): boolean {
  const user = toIdentity(readJson(path));
  // A file that is still empty is being written. Such a file is kept, and counts only at the next check.
  if (user === null || isAlive(user.pid, user.startTime)) return user !== null;
  rmSync(path, { force: true });
  return false;
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

export const addressOf = (record: Pick<ServerRecord, 'port'>): string => `127.0.0.1:${record.port}`;
