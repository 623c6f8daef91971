import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { CodedError } from '../../core/errors/coded-error.js';
import { makeFolder } from '../../files/make-folder.js';
import { inPackage } from '../../files/package-root.js';
import { isAlive } from '../../files/process-identity.js';
import { lockHolder, type ProcessLock, tryLock } from '../../files/process-lock.js';
import { recordFormat } from '../../store/process/folder-format.js';
import { takesConnections } from '../config/probe.js';
import { findTemporalBinary } from './binary.js';
import {
  addressOf,
  bareEnvironment,
  readRecord,
  type ServerFiles,
  type ServerRecord,
  serverFiles,
} from './server-files.js';
import type { ServerPlan } from './server-supervisor.js';

/** Longest wait for a server. It is longer than the wait of the supervisor for a server that starts. */
const WAIT_MS = 60_000;
const POLL_MS = 20;
/** Longest wait for the namespace of a server that runs. */
const NAMESPACE_MS = 10_000;
/** Waits longer than this are reported. */
const SAID_AFTER_MS = 5000;
const LINGER_MS = 30_000;
const MOST_SUPERVISORS = 3;
/** Time between checks whether a server in use has a supervisor, and between the supervisors that are then started. */
const [CHECK_MS, RESTART_PAUSE_MS] = [1000, 10_000];

const nothing = () => undefined;

/** Arguments of {@link ensureTemporalServer}. */
export interface TemporalServerOptions {
  /** Absolute path of the folder for the server's database, log and record. */
  readonly stateDir: string;
  /** How long the server outlives its last user, in ms. */
  readonly lingerMs?: number;
  /** Environment with `TEMPORAL_CLI` and `PATH`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly say: (sentence: string) => void;
  readonly namespace?: string;
  /** Port of Temporal's web UI; default: no web UI. A running server keeps its own port. */
  readonly ui?: number | null;
  /** Called once nothing is left but the wait for the server. */
  readonly awaited?: () => void;
}

/**
 * The Temporal server of a state folder. Its supervisor is started if none is running; parallel callers get the same server. The server ends
 * after its last user has ended. Throws a `CodedError` if it cannot be started, and a `UsageError` if no Temporal program can be installed.
 */
export async function ensureTemporalServer(options: TemporalServerOptions) {
  const files = serverFiles(options.stateDir);
  makeFolder(files.stateDir);
  const user = await enrol(files);
  const waiting = setTimeout(() => {
    const pid = readRecord(files)?.pid ?? lockHolder(files.lock)?.pid;
    if (pid !== undefined) options.say(`Waiting for the embedded Temporal server (PID ${pid}) to answer …`);
  }, SAID_AFTER_MS);
  try {
    const record = await awaitServer(files, options);
    const watch = keepSupervised(files, options);
    return {
      address: addressOf(record),
      pid: record.pid,
      uiUrl: record.uiPort === null ? null : `http://127.0.0.1:${record.uiPort}`,
      /** Records, before it returns, that this process no longer uses the server. The server ends 30 s after its last user. */
      detach: async () => {
        clearInterval(watch);
        user.release();
      },
    };
  } catch (error) {
    user.release();
    throw error;
  } finally {
    clearTimeout(waiting);
  }
}

/** Makes this process a user of the server, until the lock that it gets is released or the process ends. */
async function enrol({ users }: ServerFiles): Promise<ProcessLock> {
  for (const until = performance.now() + WAIT_MS; performance.now() < until; await delay(10)) {
    const lock = tryLock(users, true);
    if (lock !== null) return lock;
    // The supervisor looks for users at this moment, or ends the server.
  }
  const pid = lockHolder(users)?.pid ?? 'unknown';
  throw new CodedError(
    'temporal-server-failed',
    `The embedded Temporal server is being ended, and its supervisor (PID ${pid}) does not finish. End that process and run the same command again.`,
  );
}

/** Starts another supervisor if the supervisor of a server in use was killed. */
function keepSupervised(files: ServerFiles, options: TemporalServerOptions): NodeJS.Timeout {
  let next = 0;
  const check = () => {
    if (performance.now() < next || lockHolder(files.lock) !== null) return;
    next = performance.now() + RESTART_PAUSE_MS;
    startSupervisor(files, options).catch(nothing);
  };
  return setInterval(check, CHECK_MS).unref();
}

/** Waits for a server that answers and has the namespace. Starts a supervisor if none is running. */
async function awaitServer(files: ServerFiles, options: TemporalServerOptions): Promise<ServerRecord> {
  const { say, namespace = 'default', awaited = nothing } = options;
  const logged = sizeOf(files.log);
  let supervisor: Supervisor | null = null;
  let started = 0;
  let known: ServerRecord | null = null;
  let wrong = 'its supervisor does not answer';
  for (let until = performance.now() + WAIT_MS; performance.now() < until; await delay(POLL_MS)) {
    if (supervisor?.failed) break;
    const isSupervised = lockHolder(files.lock) !== null;
    if (!isSupervised && supervisor?.ended !== false && started++ < MOST_SUPERVISORS) {
      supervisor = await startSupervisor(files, options);
      until = performance.now() + WAIT_MS;
    }
    awaited();
    // The module is loaded while the server starts, because loading blocks this process for a fifth of a second.
    const { prepareNamespace } = await import('./open-client.js');
    const record = readRecord(files);
    // A server whose supervisor was killed is about to be replaced.
    if (record === null || !isSupervised || !isAlive(record.pid, record.startTime)) continue;
    if (known !== null && known.pid !== record.pid)
      say(`The embedded Temporal server was started again (PID ${record.pid}).`);
    known = record;
    wrong = `no answer at ${addressOf(record)}`;
    // A plain socket is tried first: it needs a millisecond, and gRPC waits a second after a refused connection.
    if (existsSync(files.unfinished) || !(await takesConnections(addressOf(record)))) continue;
    try {
      await prepareNamespace(addressOf(record), namespace, NAMESPACE_MS);
      // Another server may have answered: a new one has the same address.
      if (isAlive(record.pid, record.startTime)) return record;
    } catch (error) {
      wrong = error instanceof Error ? error.message : String(error);
    }
  }
  throw failure(files, lastMessages(files.log, logged) || (supervisor?.failed ?? wrong));
}

/** A supervisor that this process has started. */
interface Supervisor {
  ended: boolean;
  /** Why the server cannot be started, if the log does not say more; null while it may start. */
  failed: string | null;
}

/** Starts a supervisor of the folder. A second one ends by itself. */
async function startSupervisor(
  files: ServerFiles,
  { env, say, ui = null, lingerMs = LINGER_MS }: TemporalServerOptions,
): Promise<Supervisor> {
  await recordFormat(files.stateDir);
  const program = inPackage('dist', 'worker', 'temporal-server', 'server-supervisor.js');
  const log = openSync(files.log, 'a', 0o600);
  const child = spawn(process.execPath, [program, files.stateDir, String(lingerMs)], {
    cwd: files.stateDir,
    detached: true,
    stdio: ['pipe', log, log],
    env: bareEnvironment(env),
    windowsHide: true,
  });
  closeSync(log);
  const supervisor: Supervisor = { ended: false, failed: null };
  child.once('error', ({ message }) => Object.assign(supervisor, { ended: true, failed: message }));
  child.once('exit', (code) =>
    Object.assign(supervisor, { ended: true, failed: code ? `its supervisor ended with exit code ${code}` : null }),
  );
  child.unref();
  child.stdin?.on('error', nothing);
  try {
    // The supervisor loads its modules while the program is looked for.
    const { path: binary } = await findTemporalBinary({ env, say });
    child.stdin?.write(JSON.stringify({ binary, uiPort: ui } satisfies ServerPlan));
    return supervisor;
  } finally {
    child.stdin?.end();
  }
}

function failure({ log, database }: ServerFiles, output: string): CodedError {
  const isDamaged = /not a database|malformed|corrupt|disk image|no such table/i.test(output);
  const remedy = isDamaged
    ? `Its database ${database} is damaged. Move`
    : `If its database ${database} is damaged, move`;
  return new CodedError(
    'temporal-server-failed',
    `The embedded Temporal server did not start: ${output} (${log}). ${remedy} the file away and run the same command again. ` +
      'Paid results are in the journal and are not bought twice.',
  );
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** The last messages in the log since it had this size, in one line. */
function lastMessages(log: string, from: number): string {
  const size = sizeOf(log);
  if (size === 0) return '';
  const lines = readFileSync(log)
    .subarray(size >= from ? from : 0)
    .toString('utf8')
    .split('\n')
    .filter((line) => line.trim() !== '');
  return lines.slice(-3).map(messageOf).join('; ').slice(-1_000);
}

function messageOf(line: string): string {
  try {
    const { msg, error, Error: cause } = JSON.parse(line) as Record<string, unknown>;
    return [msg, error ?? cause].filter((part) => typeof part === 'string').join(': ');
  } catch {
    return line.trim();
  }
}
