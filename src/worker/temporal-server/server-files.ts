import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, ownIdentity, type ProcessIdentity, toIdentity } from '../../files/process-identity.js';
import { writeDurably } from '../../files/write-durably.js';

/** Where the embedded server of a state directory keeps what. */
export interface ServerFiles {
  readonly stateDir: string;
  /** SQLite database of the Temporal server. */
  readonly database: string;
  /** Stands while the database is being made: with it, there is nothing in the database yet. */
  readonly unfinished: string;
  readonly log: string;
  readonly record: string;
  /** A file for each process that needs the server. */
  readonly users: string;
  /** Held while the server is looked for, started or ended. */
  readonly lock: string;
  /** Held by the server itself, which inherits it: two servers on one database start without complaint and ruin it. */
  readonly databaseLock: string;
  /** Held by the watcher, which inherits it. */
  readonly watcherLock: string;
}

/** The files of the embedded server under a state directory. */
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

/** What `server.json` says of the server that was started last. */
export interface ServerRecord extends ProcessIdentity {
  readonly port: number;
  readonly uiPort: number | null;
  readonly version: string;
  /** The program, so that the watcher can start it again. */
  readonly binary: string;
}

/** The record, or null where there is none or it can't be read. */
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

/** Writes down that this process needs the server. The answer takes it back, at once and as often as called. */
export function enrol(files: ServerFiles): () => void {
  mkdirSync(files.users, { recursive: true, mode: 0o700 });
  const content = `${JSON.stringify(ownIdentity())}\n`;
  // One process may need it several times; a file left by a dead process of our number is simply passed by.
  for (let n = 0; ; n++) {
    const path = join(files.users, n === 0 ? `${process.pid}.json` : `${process.pid}-${n}.json`);
    try {
      writeFileSync(path, content, { mode: 0o600, flag: 'wx' });
      return () => rmSync(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** Whether a living process needs the server. Files of dead ones are removed. */
export function inUse(files: ServerFiles): boolean {
  let names: string[] = [];
  try {
    names = readdirSync(files.users);
  } catch {
    // The folder is gone: nobody needs the server.
  }
  return names.filter((name) => stillUsing(join(files.users, name))).length > 0;
}

function stillUsing(path: string): boolean {
  const user = toIdentity(readJson(path));
  // A file without content is just being written: its process decides at the next look.
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
