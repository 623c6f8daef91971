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
import { CodedError } from '../../core/errors/coded-error.js';
import { isAlive, type ProcessIdentity, processStartTime, toIdentity } from '../../files/process-identity.js';
import { type ProcessLock, tryLock } from '../../files/process-lock.js';
import { recordFormat } from '../../store/process/folder-format.js';
import { bareEnvironment } from './bare-environment.js';
import type { ServerFiles, ServerRecord } from './server-files.js';
import { writeRecord } from './server-files.js';

const MAX_LOG_BYTES = 10 * 1024 * 1024;
const END_GRACE_MS = 10_000;
const KILL_GRACE_MS = 5_000;

/** Arguments of a server's start. */
export type ServerPlan = Pick<ServerRecord, 'binary' | 'version' | 'port' | 'uiPort'>;

/**
 * Starts a Temporal server on the folder's database, in a process group of its own, and writes the record of the server. Call this function
 * while holding the folder's lock. A server that still uses the database is ended first.
 */
export async function startServer(
  files: ServerFiles,
  plan: ServerPlan,
  env: Readonly<Record<string, string | undefined>>,
) {
  await recordFormat(files.stateDir);
  const lock = await lockDatabase(files);
  await endStrayServer(files);
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
    // The 'error' event has the reason; without a listener the event would end this process.
    const failed = new Promise<Error>((resolve) => child.once('error', resolve));
    let end: string | null = null;
    child.once('exit', (code, signal) => {
      end = signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`;
    });
    if (child.pid === undefined) throw await failed;
    const record = { pid: child.pid, startTime: processStartTime(child.pid), ...plan };
    lock.handOver(child.pid);
    await writeRecord(files, record);
    child.unref();
    // `end`: how the server's process ended, in words; null while the process is running.
    return { record, end: () => end };
  } finally {
    closeSync(log);
    lock.release();
  }
}

/**
 * Ends a process with SIGTERM, then SIGKILL. Does nothing if its PID now belongs to another process. Throws if the process does not end.
 */
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
      throw new CodedError(
        'temporal-server-failed',
        `The process ${pid} cannot be ended: ${(error as Error).message}.`,
        { cause: error },
      );
    }
    const until = performance.now() + graceMs;
    while (isAlive(pid, startTime) && performance.now() < until) await delay(25);
  }
  if (isAlive(pid, startTime))
    throw new CodedError(
      'temporal-server-failed',
      `The process ${pid} cannot be ended: it is still running after SIGKILL.`,
    );
}

/** Empties the log above 10 MiB. The server writes in append mode, so this is safe. */
export function boundLog(files: ServerFiles): void {
  if ((statSync(files.log, { throwIfNoEntry: false })?.size ?? 0) > MAX_LOG_BYTES) truncateSync(files.log);
}

function serverArguments(files: ServerFiles, plan: ServerPlan): string[] {
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(plan.port), '--db-filename', files.database],
    ...(plan.uiPort === null ? ['--headless'] : ['--ui-port', String(plan.uiPort)]),
    ...['--log-level', 'warn', '--log-format', 'json', '--color', 'never'],
    ...[
      // Eager execution reduces a workflow step from 90 ms to 14 ms, and does not change the behaviour.
      'system.enableActivityEagerExecution=true',
      // Timers below a second would end after a second. The longer shift is for servers with several clocks.
      'history.timerProcessorMaxTimeShift="50ms"',
      // The server always opens an HTTP API, which web pages can call. No request can have this Host, so the API refuses each of them.
      'frontend.httpAllowedHosts=[" "]',
      'system.enableNexus=false',
    ].flatMap((setting) => ['--dynamic-config-value', setting]),
  ];
}

/**
 * Ends the server of a folder that was deleted and made again. At its end, that server would delete files of the new database, which
 * have the same paths.
 */
async function endStrayServer(files: ServerFiles): Promise<void> {
  const stray = existsSync(files.database) ? null : serverOf(files);
  if (stray !== null) await endProcess(stray);
}

/** Removes a database whose server was killed while it created the tables, because no server can open it. */
function dropUnfinished(files: ServerFiles): void {
  if (existsSync(files.unfinished)) {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${files.database}${suffix}`, { force: true });
  }
  if (!existsSync(files.database)) writeFileSync(files.unfinished, '', { mode: 0o600 });
}

/** Takes the lock of the folder's database, and ends the server that has it, recorded or not. Call this while holding the folder's lock. */
export async function lockDatabase(files: ServerFiles): Promise<ProcessLock> {
  const until = performance.now() + END_GRACE_MS + KILL_GRACE_MS;
  for (;;) {
    const lock = tryLock(files.databaseLock);
    if (lock !== null) return lock;
    const holder = databaseHolder(files);
    if (holder !== null) await endProcess(holder);
    // A holder that is not found may be ending: a process keeps its locks until its last thread has ended.
    else if (performance.now() < until) await delay(25);
    else {
      throw new CodedError(
        'temporal-server-failed',
        `Another Temporal server is using ${files.database}. End it (a process named temporal) and run the same command again.`,
      );
    }
  }
}

/** The server that holds the database, from the lock file, or else by the arguments of all processes (Linux). */
export function databaseHolder(files: ServerFiles): ProcessIdentity | null {
  try {
    const named = toIdentity(JSON.parse(readFileSync(files.databaseLock, 'utf8')));
    if (named !== null && isAlive(named.pid, named.startTime)) return named;
  } catch {
    // If the lock file has no record, all processes are searched.
  }
  return serverOf(files);
}

/** The server with the path of this database in its arguments, from all processes (Linux). */
function serverOf(files: ServerFiles): ProcessIdentity | null {
  if (process.platform !== 'linux') return null;
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
      if (!command.includes(files.database) || !command.includes('start-dev')) continue;
      return { pid: Number(name), startTime: processStartTime(Number(name)) };
    } catch {
      // A process that has ended in the meantime is left out.
    }
  }
  return null;
}
