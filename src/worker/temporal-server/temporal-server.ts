import { spawn } from 'node:child_process';
import { chmodSync, closeSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import type { ErrorCode } from '../../core/errors/registry.js';
import { makeFolder } from '../../files/make-folder.js';
import { inPackage } from '../../files/package-root.js';
import { isAlive } from '../../files/process-identity.js';
import { isLocked, withLock } from '../../files/process-lock.js';
import { bareEnvironment } from './bare-environment.js';
import { findTemporalBinary } from './binary.js';
import { freePort } from './free-port.js';
import {
  addressOf,
  enrol,
  readRecord,
  removeRecord,
  type ServerFiles,
  type ServerRecord,
  serverFiles,
} from './server-files.js';
import type { HealthCheck } from './server-health.js';
import { endProcess, startServer } from './server-process.js';

/** Starts the watcher of a folder if none is running. Call this function while holding the folder's lock, before the server is started. */
function keepWatcher(files: ServerFiles, lingerMs: number, env: Readonly<Record<string, string | undefined>>): void {
  if (isLocked(files.watcherLock)) return;
  const log = openSync(files.log, 'a', 0o600);
  try {
    const watcher = inPackage('dist', 'worker', 'temporal-server', 'server-watcher.js');
    const child = spawn(process.execPath, [watcher, files.stateDir, String(lingerMs)], {
      detached: true,
      // An unexpected error of the watcher goes to the server's log.
      stdio: ['ignore', 'ignore', log],
      env: bareEnvironment(env),
      windowsHide: true,
    });
    // If the watcher cannot be started, the server runs without a watcher until the next command of the folder starts one.
    child.once('error', () => undefined);
    child.unref();
  } finally {
    closeSync(log);
  }
}

const REUSE_WITHIN_MS = 10_000;
/** Time, after SIGTERM, for the end of a server that does not answer. A kill does not damage the database of the server. */
const HUNG_GRACE_MS = 2_000;
const START_WITHIN_MS = 30_000;
/** Waits longer than this are reported. */
const SAID_AFTER_MS = 5000;
/** Longest wait for the lock: another process may be installing the server, and an installation takes minutes. */
const LOCK_WAIT_MS = 30 * 60_000;
const LINGER_MS = 30_000;
const ATTEMPTS = 3;

const nothing = () => undefined;

/** Arguments of {@link ensureTemporalServer}. */
export interface TemporalServerOptions {
  /** Absolute path of the folder for the server's database, log and record. */
  readonly stateDir: string;
  /** Environment with `TEMPORAL_CLI`, `PATH` and, for tests, `SEARCHFLOW_SERVER_LINGER_MS`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly say: (sentence: string) => void;
  readonly namespace?: string;
  /** Port of Temporal's web UI; default: no web UI. A running server keeps its own port. */
  readonly ui?: number | null;
  /** Called once the process of the server is running. */
  readonly awaited?: () => void;
}

/** The embedded server cannot be started; the message has the reason and says what to do. */
export class TemporalServerFailed extends Error {
  readonly errorCode = 'temporal-server-failed' satisfies ErrorCode;
  override readonly name = 'TemporalServerFailed';
}

/**
 * The Temporal server of a state folder: the running server if it answers, else a new server on the same database. Parallel callers get the
 * same server. A watcher ends the server after its last user has ended. Throws {@link TemporalServerFailed}, or a `UsageError` if no
 * Temporal program can be installed.
 */
export async function ensureTemporalServer(options: TemporalServerOptions) {
  const files = serverFiles(options.stateDir);
  makeFolder(files.stateDir);
  // This process is recorded as a user first, so that no watcher ends a server that is about to be reused.
  const user = await enrol(files);
  try {
    const { record, reused } = await withLock(files.lock, () => reuseOrStart(files, options), {
      waitMs: LOCK_WAIT_MS,
      say: options.say,
    });
    return {
      address: addressOf(record),
      pid: record.pid,
      /** Whether the server was already running. */
      reused,
      uiUrl: record.uiPort === null ? null : `http://127.0.0.1:${record.uiPort}`,
      /** Records, before it returns, that this process no longer uses the server. The server ends 30 s after its last user. */
      detach: async () => user.release(),
    };
  } catch (error) {
    user.release();
    throw error;
  }
}

/** Waits for a server. The module is loaded here, when its process runs, because loading blocks this process for a fifth of a second. */
const awaitServer = async (check: HealthCheck) => (await import('./server-health.js')).awaitServer(check);

async function reuseOrStart(files: ServerFiles, options: TemporalServerOptions) {
  const { env, say, namespace = 'default', awaited = nothing } = options;
  const linger = Number(env.SEARCHFLOW_SERVER_LINGER_MS || LINGER_MS);
  const lingerMs = linger >= 0 ? linger : LINGER_MS;
  const found = readRecord(files);
  if (found !== null && isAlive(found.pid, found.startTime)) {
    awaited();
    const gone = () => (isAlive(found.pid, found.startTime) ? null : 'it ended');
    const wrong = await reportingWait(
      say,
      found,
      awaitServer({ address: addressOf(found), namespace, withinMs: REUSE_WITHIN_MS, gone }),
    );
    if (wrong === null) {
      databaseIsMade(files);
      keepWatcher(files, lingerMs, env);
      return { record: found, reused: true };
    }
    say(`Replacing the Temporal server of ${files.stateDir} (PID ${found.pid}): ${wrong}.`);
    await endProcess(found, HUNG_GRACE_MS);
  }
  removeRecord(files);
  const { path: binary, version } = await findTemporalBinary({ env, say });
  keepWatcher(files, lingerMs, env);
  for (let attempt = 1; ; attempt++) {
    const uiPort = options.ui ?? null;
    const logged = statSync(files.log, { throwIfNoEntry: false })?.size ?? 0;
    // The new server gets the port of the old one, because workers and clients keep calling that port.
    const port = await freePort(attempt === 1 ? found?.port : 0);
    const { record, end } = await startServer(files, { binary, version, port, uiPort }, env);
    awaited();
    const address = addressOf(record);
    const wrong = await reportingWait(
      say,
      record,
      awaitServer({ address, namespace, withinMs: START_WITHIN_MS, gone: end }),
    );
    if (wrong === null) {
      databaseIsMade(files);
      return { record, reused: false };
    }
    const hasEnded = end() !== null;
    await endProcess(record, HUNG_GRACE_MS);
    removeRecord(files);
    const output = lastMessages(files.log, logged);
    // Another process may have taken the port or killed the server, so another attempt may succeed.
    if (hasEnded && !isDamage(output) && attempt < ATTEMPTS) {
      say(`Starting the Temporal server again: ${output === '' ? wrong : `${wrong} (${output})`}.`);
      continue;
    }
    throw new TemporalServerFailed(hasEnded || output !== '' ? failure(files, wrong, output) : silence(files, wrong));
  }
}

/** Runs work. If the work takes long, reports the process that the work waits for. */
async function reportingWait<T>(
  say: TemporalServerOptions['say'],
  { pid }: Pick<ServerRecord, 'pid'>,
  work: Promise<T>,
): Promise<T> {
  const timer = setTimeout(
    () => say(`Waiting for the embedded Temporal server (PID ${pid}) to answer …`),
    SAID_AFTER_MS,
  );
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

/** Records, before the server is used, that its database is complete. */
function databaseIsMade(files: ServerFiles): void {
  chmodSync(files.database, 0o600);
  rmSync(files.unfinished, { force: true });
}

const isDamage = (output: string) => /not a database|malformed|corrupt|disk image|no such table/i.test(output);

/** Message about a server that neither answered nor ended. */
function silence(files: ServerFiles, wrong: string): string {
  return (
    `The embedded Temporal server did not start: ${wrong}. Its log is empty (${files.log}). The server is stopped, or this machine is busy. ` +
    'Run the same command again.'
  );
}

function failure(files: ServerFiles, wrong: string, output: string): string {
  const damaged = isDamage(output);
  const remedy = `${damaged ? 'Its database' : 'If its database'} ${files.database} is damaged${damaged ? '. Move' : ', move'} the file away`;
  return (
    `The embedded Temporal server did not start: ${wrong}. ${output === '' ? 'Its log is empty' : `Its last messages: ${output}`} ` +
    `(${files.log}). ${remedy} and run the same command again. Paid results are in the journal and are not bought twice.`
  );
}

/** The last messages in the log since the server was started, in one line. */
function lastMessages(log: string, from: number): string {
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
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
