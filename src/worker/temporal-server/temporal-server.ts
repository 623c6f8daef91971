import { chmodSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { isAlive } from '../../files/process-identity.js';
import { withLock } from '../../files/process-lock.js';
import { freePort } from './free-port.js';
import { keepWatcher } from './keep-watcher.js';
import { enrol, readRecord, removeRecord, type ServerFiles, type ServerRecord, serverFiles } from './server-files.js';
import { awaitServer } from './server-health.js';
import { endProcess, startServer } from './server-process.js';
import { findTemporalBinary } from './temporal-binary.js';

const REUSE_WITHIN_MS = 10_000;
/** One that does not answer will hardly end in order; its database survives a kill. */
const HUNG_GRACE_MS = 2_000;
const START_WITHIN_MS = 30_000;
/** A wait that is longer than this is told. */
const SAID_AFTER_MS = 5000;
/** Somebody else may be building the server: minutes, once. */
const LOCK_WAIT_MS = 30 * 60_000;
const LINGER_MS = 30_000;
const ATTEMPTS = 3;

export interface TemporalServerOptions {
  /** Absolute; the server's database, log and record live here. */
  readonly stateDir: string;
  /** Where `TEMPORAL_CLI`, `PATH` and, for tests, `SEARCHFLOW_SERVER_LINGER_MS` are read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly say: (sentence: string) => void;
  readonly namespace?: string;
  /** Port of Temporal's web UI; by default there is none. A server that runs already keeps its own. */
  readonly ui?: number | null;
}

/** The embedded Temporal server, running. */
export interface EmbeddedServer {
  readonly address: string;
  readonly pid: number;
  /** It ran already. */
  readonly reused: boolean;
  readonly uiUrl: string | null;
  /** This process needs it no longer: done before the call returns. It ends 30 s after its last user. */
  detach(): Promise<void>;
}

/** The embedded server can't be had; the message names the reason and the way out. */
export class TemporalServerFailed extends Error {
  override readonly name = 'TemporalServerFailed';
}

/**
 * The Temporal server of a state directory: the one that runs, if it answers, else a new one on the same database. Two
 * processes that ask at once get the same. A watcher ends it when no process uses it any more. Throws
 * {@link TemporalServerFailed}, or a usage error where no Temporal program can be had.
 */
export async function ensureTemporalServer(options: TemporalServerOptions): Promise<EmbeddedServer> {
  const files = serverFiles(options.stateDir);
  mkdirSync(files.stateDir, { recursive: true, mode: 0o700 });
  // First of all: from here on no watcher ends a server that we may be about to reuse.
  const leave = enrol(files);
  try {
    const { record, reused } = await withLock(files.lock, () => reuseOrStart(files, options), {
      waitMs: LOCK_WAIT_MS,
      say: options.say,
    });
    return {
      address: addressOf(record),
      pid: record.pid,
      reused,
      uiUrl: record.uiPort === null ? null : `http://127.0.0.1:${record.uiPort}`,
      detach: async () => leave(),
    };
  } catch (error) {
    leave();
    throw error;
  }
}

/** Address of the server of a state directory, where its process lives. */
export function runningServer(stateDir: string): string | null {
  const record = readRecord(serverFiles(stateDir));
  return record !== null && isAlive(record.pid, record.startTime) ? addressOf(record) : null;
}

async function reuseOrStart(files: ServerFiles, options: TemporalServerOptions) {
  const { env, say, namespace = 'default' } = options;
  const linger = Number(env.SEARCHFLOW_SERVER_LINGER_MS || LINGER_MS);
  const lingerMs = linger >= 0 ? linger : LINGER_MS;
  const found = readRecord(files);
  if (found !== null && isAlive(found.pid, found.startTime)) {
    const gone = () => (isAlive(found.pid, found.startTime) ? null : 'it ended');
    const wrong = await saying(
      say,
      found,
      awaitServer({ address: addressOf(found), namespace, withinMs: REUSE_WITHIN_MS, gone }),
    );
    if (wrong === null) {
      databaseIsMade(files);
      keepWatcher(files, lingerMs, env);
      return { record: found, reused: true };
    }
    say(`The Temporal server of ${files.stateDir} (PID ${found.pid}) is replaced: ${wrong}.`);
    await endProcess(found, HUNG_GRACE_MS);
  }
  removeRecord(files);
  const { path: binary, version } = await findTemporalBinary({ env, say });
  keepWatcher(files, lingerMs, env);
  for (let attempt = 1; ; attempt++) {
    const uiPort = options.ui ?? null;
    const logged = statSync(files.log, { throwIfNoEntry: false })?.size ?? 0;
    const { record, end } = await startServer(files, { binary, version, port: await freePort(), uiPort }, env);
    const address = addressOf(record);
    const wrong = await saying(say, record, awaitServer({ address, namespace, withinMs: START_WITHIN_MS, gone: end }));
    if (wrong === null) {
      databaseIsMade(files);
      return { record, reused: false };
    }
    const hasEnded = end() !== null;
    await endProcess(record, HUNG_GRACE_MS);
    removeRecord(files);
    const said = lastWords(files.log, logged);
    // Somebody took the port between our look and the server's start, or killed it: the next try may have better luck.
    if (hasEnded && !isDamage(said) && attempt < ATTEMPTS) {
      say(`The Temporal server is started once more: ${said === '' ? wrong : `${wrong} (${said})`}.`);
      continue;
    }
    throw new TemporalServerFailed(hasEnded || said !== '' ? failure(files, wrong, said) : silence(files, wrong));
  }
}

/** Tells who is waited for where it takes long. */
async function saying<T>(
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

/** Before anybody is given the server: from now on its database holds something. */
function databaseIsMade(files: ServerFiles): void {
  chmodSync(files.database, 0o600);
  rmSync(files.unfinished, { force: true });
}

const addressOf = (record: ServerRecord) => `127.0.0.1:${record.port}`;

const isDamage = (said: string) => /not a database|malformed|corrupt|disk image|no such table/i.test(said);

/** Of a server that neither answered nor ended. */
function silence(files: ServerFiles, wrong: string): string {
  return (
    `The embedded Temporal server did not start: ${wrong}, and it said nothing (log: ${files.log}). It was stopped, or this machine is ` +
    'busy. Run the same command again.'
  );
}

function failure(files: ServerFiles, wrong: string, said: string): string {
  const damaged = isDamage(said);
  const wayOut = `${damaged ? 'Its database' : 'If its database'} ${files.database} is damaged${damaged ? '; move' : ', move'} the file away`;
  return (
    `The embedded Temporal server does not start (${wrong}). ${said === '' ? 'It said nothing' : `Its last words: ${said}`} ` +
    `(log: ${files.log}). ${wayOut} and run the same command again: what was bought is in the journal and is not bought twice.`
  );
}

/** The last messages that the server logged since it was started, in one line. */
function lastWords(log: string, from: number): string {
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
