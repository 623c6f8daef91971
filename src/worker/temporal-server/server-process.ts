import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, type ProcessIdentity, processStartTime, toIdentity } from '../../files/process-identity.js';
import { type ProcessLock, tryLock } from '../../files/process-lock.js';
import type { ServerFiles, ServerRecord } from './server-files.js';
import { writeRecord } from './server-files.js';

const MAX_LOG_BYTES = 10 * 1024 * 1024;
const END_GRACE_MS = 10_000;
const KILL_GRACE_MS = 5_000;

/** What a server is started with. */
export type ServerPlan = Pick<ServerRecord, 'binary' | 'version' | 'port' | 'uiPort'>;

/** A server of ours that may still be starting. */
export interface StartedServer {
  readonly record: ServerRecord;
  /** How its process ended, in words; null while nobody has heard of its end. */
  readonly end: () => string | null;
}

/**
 * Starts a Temporal server on the folder's database, apart from the terminal's process group, and writes its record before
 * anything else can go wrong. Call it under the folder's lock. Whoever still works on the database is ended first.
 */
export async function startServer(
  files: ServerFiles,
  plan: ServerPlan,
  env: Readonly<Record<string, string | undefined>>,
): Promise<StartedServer> {
  const lock = await lockDatabase(files);
  dropUnfinished(files);
  boundLog(files);
  const log = openSync(files.log, 'a', 0o600);
  try {
    const child = spawn(plan.binary, serverArguments(files, plan), {
      cwd: files.stateDir,
      detached: true,
      stdio: ['ignore', log, log, lock.fd],
      env: bareEnvironment(env),
      windowsHide: true,
    });
    // The reason comes with the 'error' event; without this listener it would end the process.
    const failed = new Promise<Error>((tell) => child.once('error', tell));
    let end: string | null = null;
    child.once('exit', (code, signal) => {
      end = signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`;
    });
    if (child.pid === undefined) throw await failed;
    const record = { pid: child.pid, startTime: processStartTime(child.pid), ...plan };
    lock.handOver(child.pid);
    await writeRecord(files, record);
    child.unref();
    return { record, end: () => end };
  } finally {
    closeSync(log);
    lock.release();
  }
}

/** Ends a process: asked first, killed after a while. Does nothing where its number now belongs to another process. */
export async function endProcess({ pid, startTime }: ProcessIdentity, endGraceMs = END_GRACE_MS): Promise<void> {
  for (const [signal, graceMs] of [
    ['SIGTERM', endGraceMs],
    ['SIGKILL', KILL_GRACE_MS],
  ] as const) {
    if (!isAlive(pid, startTime)) return;
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return;
      throw new Error(`The process ${pid} could not be ended: ${(error as Error).message}.`, { cause: error });
    }
    const until = performance.now() + graceMs;
    while (isAlive(pid, startTime) && performance.now() < until) await delay(25);
  }
  if (isAlive(pid, startTime)) throw new Error(`The process ${pid} does not end, not even when killed.`);
}

/** Ends whatever Temporal server works on this folder's database, recorded or not. Call it under the folder's lock. */
export async function endServer(files: ServerFiles): Promise<void> {
  (await lockDatabase(files)).release();
}

/** Keeps the log bounded: it is emptied above 10 MiB, which the server, writing in append mode, does not mind. */
export function boundLog(files: ServerFiles): void {
  if ((statSync(files.log, { throwIfNoEntry: false })?.size ?? 0) > MAX_LOG_BYTES) truncateSync(files.log);
}

/** Only what a program needs to run: no key or Temporal setting of ours reaches the server or shows in its environment. */
export function bareEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const needed = ['PATH', 'Path', 'HOME', 'USER', 'TMPDIR', 'TMP', 'TEMP', 'LANG', 'TZ', 'SystemRoot', 'USERPROFILE'];
  return Object.fromEntries(needed.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}

function serverArguments(files: ServerFiles, plan: ServerPlan): string[] {
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(plan.port), '--db-filename', files.database],
    ...(plan.uiPort === null ? ['--headless'] : ['--ui-port', String(plan.uiPort)]),
    ...['--log-level', 'warn', '--log-format', 'json', '--color', 'never'],
    // A step of a workflow takes some 14 ms instead of 90 with it; everything behaves the same without.
    ...['--dynamic-config-value', 'system.enableActivityEagerExecution=true'],
  ];
}

/** A server that was killed while it made its tables leaves a database that no server can open: it starts from nothing again. */
function dropUnfinished(files: ServerFiles): void {
  if (existsSync(files.unfinished)) {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${files.database}${suffix}`, { force: true });
  }
  if (!existsSync(files.database)) writeFileSync(files.unfinished, '', { mode: 0o600 });
}

async function lockDatabase(files: ServerFiles): Promise<ProcessLock> {
  const until = performance.now() + END_GRACE_MS + KILL_GRACE_MS;
  for (;;) {
    const lock = tryLock(files.databaseLock);
    if (lock !== null) return lock;
    const holder = databaseHolder(files);
    if (holder !== null) await endProcess(holder);
    // A process that was ended keeps its locks until its last thread is gone.
    else if (performance.now() < until) await delay(25);
    else {
      throw new Error(
        `Another Temporal server works on ${files.database}; end it (a process named temporal), then run again.`,
      );
    }
  }
}

/** The server that holds the database: named in the lock file, or, where that was not written or is gone, known by its arguments. */
export function databaseHolder(files: ServerFiles): ProcessIdentity | null {
  try {
    const named = toIdentity(JSON.parse(readFileSync(files.databaseLock, 'utf8')));
    if (named !== null && isAlive(named.pid, named.startTime)) return named;
  } catch {
    // Nothing was written: look for it.
  }
  if (process.platform !== 'linux') return null;
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
      if (!command.includes(files.database) || !command.includes('start-dev')) continue;
      return { pid: Number(name), startTime: processStartTime(Number(name)) };
    } catch {
      // It ended while we looked.
    }
  }
  return null;
}
