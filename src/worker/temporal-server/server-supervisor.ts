import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, type FSWatcher, rmSync, statSync, truncateSync, watch, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, processStartTime } from '../../files/process-identity.js';
import { isAt, lockHolder, type ProcessLock, tryLock } from '../../files/process-lock.js';
import { addressOf, freePort, readRecord, type ServerRecord, serverFiles, writeRecord } from './server-files.js';

// Program of the supervisor, a detached Node process that `ensureTemporalServer` starts from the compiled file. It owns the embedded server
// of a folder: it starts the server, starts it again if it ends or hangs, and ends it once no process uses it. Its output, and the server's,
// is the log. Arguments: state folder, linger in milliseconds. Input: a ServerPlan, or nothing if there is no program to run.

export interface ServerPlan {
  /** Path of Temporal's program. */
  readonly binary: string;
  readonly uiPort: number | null;
}

const POLL_MS = 1_000;
const START_POLL_MS = 20;
const START_WITHIN_MS = 30_000;
/** Longest wait for one answer of a running server. After two waits without an answer the server is replaced. */
const ANSWER_MS = 5_000;
const MOST_SILENCES = 2;
const MOST_FAILED_STARTS = 3;
/** More restarts than this in {@link RESTART_WINDOW_MS} wait for {@link RESTART_PAUSE_MS}. */
const MOST_RESTARTS = 5;
const RESTART_WINDOW_MS = 5 * 60_000;
const RESTART_PAUSE_MS = 30_000;
const KILL_GRACE_MS = 5_000;
const MAX_LOG_BYTES = 10 * 1024 * 1024;

const [stateDir = '', linger = ''] = process.argv.slice(2);
const files = serverFiles(stateDir);
const lingerMs = Number(linger);
const pollMs = Math.min(POLL_MS, Math.max(50, lingerMs / 4));
let idleSince: number | null = null;
let running: ChildProcess | null = null;

/** Supervises servers, one after the other, until no process needs one. Throws if no server starts. */
async function supervise(lock: ProcessLock, plan: ServerPlan): Promise<void> {
  let restarts: number[] = [];
  let failedStarts = 0;
  // The new server gets the port of the old one, because workers and clients keep calling that port.
  let port = await freePort(readRecord(files)?.port);
  for (;;) {
    const server = startServer(lock, plan, port);
    // A kill does not damage the database, and is faster than an orderly end.
    const why = await superviseServer(server, lock).finally(async () => {
      server.child.kill('SIGKILL');
      if (!server.ended.aborted) await once(server.ended, 'abort');
    });
    if (why === null) return;
    failedStarts = server.answered ? 0 : failedStarts + 1;
    const sentence = `The Temporal server at ${addressOf({ port })} ${why}`;
    if (failedStarts === MOST_FAILED_STARTS || server.hung) throw new Error(sentence);
    console.error(sentence);
    const now = performance.now();
    restarts = [...restarts.filter((at) => at > now - RESTART_WINDOW_MS), now];
    const next = now + (restarts.length > MOST_RESTARTS ? RESTART_PAUSE_MS : 0);
    while (performance.now() < next) {
      if (!isOwn(lock) || isUnused()) return;
      await delay(pollMs);
    }
    // The users keep calling this port. After two failed starts, another program may have it.
    port = await freePort(failedStarts < 2 ? port : 0);
  }
}

type Server = ReturnType<typeof startServer>;

/** Starts the server, which inherits the lock. */
function startServer(lock: ProcessLock, plan: ServerPlan, port: number) {
  boundLog();
  if (existsSync(files.unfinished) || !existsSync(files.database)) {
    // No server can open a database whose server was killed while it created the tables.
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${files.database}${suffix}`, { force: true });
    writeFileSync(files.unfinished, '');
  }
  const child = spawn(plan.binary, serverArguments(plan, port), {
    cwd: stateDir,
    stdio: ['ignore', 'inherit', 'inherit', lock.fd],
    windowsHide: true,
  });
  running = child;
  // In a folder that was deleted and made again, this server would delete the journal of the new database, which has the same path. So it is
  // killed at once. Without a watch, it is killed a second later.
  const watcher = watchFile(files.lock, () => isOwn(lock) || child.kill('SIGKILL'));
  child.once('exit', () => watcher?.close());
  const { pid = 0 } = child;
  const record = { pid, startTime: processStartTime(pid), port, uiPort: plan.uiPort };
  const ended = new AbortController();
  child.once('error', (error) => ended.abort(`cannot be started: ${error.message}`));
  child.once('exit', (code, signal) =>
    ended.abort(signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`),
  );
  return { child, record, ended: ended.signal, answered: false, hung: false };
}

function serverArguments({ uiPort }: ServerPlan, port: number): string[] {
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--db-filename', files.database],
    ...(uiPort === null ? ['--headless'] : ['--ui-port', String(uiPort)]),
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

/** Records the server and waits for its end. Returns how it ended; null: no process needs a server any more. */
async function superviseServer(server: Server, lock: ProcessLock): Promise<string | null> {
  const until = performance.now() + START_WITHIN_MS;
  for (let silences = 0; ; ) {
    // The record is missing, or a person has removed or damaged it.
    if (isOwn(lock) && readRecord(files)?.pid !== server.record.pid) writeRecord(files, server.record);
    const ms = server.answered ? pollMs : START_POLL_MS;
    await delay(ms, undefined, { signal: server.ended }).catch(() => undefined);
    if (!isOwn(lock)) return null;
    if (server.ended.aborted) return server.ended.reason as string;
    if (isUnused()) return null;
    boundLog();
    if (await answers(addressOf(server.record))) {
      silences = 0;
      if (!server.answered) rmSync(files.unfinished, { force: true });
      server.answered = true;
    } else if (server.answered) {
      if (++silences === MOST_SILENCES) return 'did not answer any more';
    } else if (performance.now() > until) {
      server.hung = true;
      return `did not answer within ${START_WITHIN_MS / 1000} s`;
    }
  }
}

function watchFile(path: string, changed: () => void): FSWatcher | null {
  try {
    return watch(path, changed).on('error', () => undefined);
  } catch {
    return null;
  }
}

/** Whether the server answers. A connection is no answer: the system accepts connections for a suspended process. */
async function answers(address: string): Promise<boolean> {
  const { connect } = await import('node:http2');
  const session = connect(`http://${address}`);
  session.on('error', () => undefined);
  try {
    await once(session, 'remoteSettings', { signal: AbortSignal.timeout(ANSWER_MS) });
    return true;
  } catch {
    return false;
  } finally {
    session.destroy();
  }
}

/** Whether no process has used the server for the linger. Then no process can become a user before the end of this process. */
function isUnused(): boolean {
  const alone = tryLock(files.users);
  if (alone === null) {
    idleSince = null;
    return false;
  }
  idleSince ??= performance.now();
  const isOver = performance.now() - idleSince >= lingerMs;
  if (!isOver) alone.release();
  return isOver;
}

/** Whether the lock is still the lock of the folder, and not of a folder that was deleted or moved. */
const isOwn = (lock: ProcessLock): boolean => isAt(files.lock, lock.fd);

/** Empties a log above 10 MiB. Its writers append, so this is safe. */
function boundLog(): void {
  if ((statSync(files.log, { throwIfNoEntry: false })?.size ?? 0) > MAX_LOG_BYTES) truncateSync(files.log);
}

/** Takes the lock of the folder. Ends the server that a killed supervisor left. Returns null if another supervisor has the lock. */
async function takeLock(): Promise<ProcessLock | null> {
  const until = performance.now() + KILL_GRACE_MS;
  for (;;) {
    // The record is read before the lock is looked at, so it is never that of a living supervisor.
    const left = readRecord(files);
    const lock = tryLock(files.lock);
    if (lock === null && lockHolder(files.lock) !== null) return null;
    if (left !== null) await killLeft(left);
    if (lock !== null) return lock;
    // A process keeps its locks until its last thread has ended.
    if (performance.now() > until)
      throw new Error(`Another Temporal server is using ${files.database}. End it (a process named temporal).`);
    await delay(25);
  }
}

/** Kills a server that this process did not start. Does nothing if its PID now belongs to another process. */
async function killLeft({ pid, startTime, port }: ServerRecord): Promise<void> {
  // On Windows, which reports no start time, a PID proves nothing. A server answers at its port.
  if (startTime === null && !(await answers(addressOf({ port })))) return;
  if (isAlive(pid, startTime)) process.kill(pid, 'SIGKILL');
  const until = performance.now() + KILL_GRACE_MS;
  while (isAlive(pid, startTime)) {
    if (performance.now() > until) throw new Error(`The process ${pid} is still running after SIGKILL.`);
    await delay(25);
  }
}

// A closed terminal, or a Ctrl-C for the command, must not end the supervisor. Its server ends with it.
for (const signal of ['SIGHUP', 'SIGINT'] as const) process.on(signal, () => undefined);
process.on('SIGTERM', () => process.exit(143));
process.on('exit', () => running?.kill('SIGKILL'));
// Only their owner may read the files of the server.
process.umask(0o077);
try {
  process.stdin.on('error', () => undefined);
  await once(process.stdin, 'readable');
  const input = process.stdin.read();
  const lock = input === null ? null : await takeLock();
  if (lock !== null) {
    await supervise(lock, JSON.parse(String(input)) as ServerPlan).finally(() => {
      if (isOwn(lock)) rmSync(files.record, { force: true });
      lock.release();
    });
  }
  process.exit(0);
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
