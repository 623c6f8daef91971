import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { type ProcessIdentity, toIdentity } from '../../files/process-identity.js';
import { replaceNow } from '../../files/write-durably.js';

export type ServerFiles = ReturnType<typeof serverFiles>;

export const serverFiles = (stateDir: string) => ({
  stateDir,
  database: join(stateDir, 'temporal.db'),
  /** Marker that exists until the tables of a new database are complete. */
  unfinished: join(stateDir, 'temporal.db.unfinished'),
  /** Output of the server and of its supervisor. */
  log: join(stateDir, 'temporal.log'),
  record: join(stateDir, 'server.json'),
  /** Lock that each process that uses the server shares. The supervisor takes it alone to end the server. */
  users: join(stateDir, 'users.lock'),
  /** Lock of the supervisor, which the server inherits: two servers on one database would start and corrupt the database. */
  lock: join(stateDir, 'server.lock'),
});

/** Contents of `server.json`: the server that was started last. */
export interface ServerRecord extends ProcessIdentity {
  readonly port: number;
  readonly uiPort: number | null;
}

/** The record; null if it is missing or cannot be read. */
export function readRecord(files: ServerFiles): ServerRecord | null {
  try {
    const found = JSON.parse(readFileSync(files.record, 'utf8'));
    const identity = toIdentity(found);
    if (identity === null || typeof found.port !== 'number') return null;
    return { ...identity, port: found.port, uiPort: typeof found.uiPort === 'number' ? found.uiPort : null };
  } catch {
    return null;
  }
}

/** Writes the record at once, so that a killed supervisor leaves no server without a record. It needs no sync: a power cut ends the server. */
export function writeRecord(files: ServerFiles, record: ServerRecord): void {
  replaceNow(files.record, `${JSON.stringify(record)}\n`);
}

export const addressOf = (record: Pick<ServerRecord, 'port'>): string => `127.0.0.1:${record.port}`;

/** The variables that a program needs to run, without any key or Temporal setting of ours. */
export function bareEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const needed = ['PATH', 'Path', 'HOME', 'USER', 'TMPDIR', 'TMP', 'TEMP', 'LANG', 'TZ', 'SystemRoot', 'USERPROFILE'];
  return Object.fromEntries(needed.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}

/** A free port of 127.0.0.1, `wanted` if that port is free. Another process may take the port before the caller uses it. */
export async function freePort(wanted = 0): Promise<number> {
  const server = createServer();
  server.listen(wanted, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (wanted === 0) throw error;
    return freePort();
  }
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
