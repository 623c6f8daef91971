import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { sourceIdentity } from '../core/connections/source-address.js';
import { deferred } from '../core/processes/deferred.js';
import { isAddress, isPattern, pathOfAddress } from '../core/rows/source-fields.js';
import type { Json } from '../core/text/json.js';
import { inPackage } from '../files/package-root.js';
import { isPostgresUrl } from '../postgres/index.js';
import { CsvError, InputUnsteady, type OpenedTable, type RowReader, type RowRecord } from '../rows/index.js';
import { closedWarehouseFile } from '../warehouse/index.js';
import { formatOfName } from './file-format.js';
import { openReader } from './open-reader.js';
import {
  type IsolatedRequest,
  MOST_MEMORY,
  type ReaderMessage,
  type SentError,
  type SentRecord,
} from './reader-messages.js';
import type { SourceRequest } from './source-request.js';

/** Memory in MB of the heap of JavaScript. */
const HEAP_MB = 384;
/** Longest time, in ms, without a sign of life. */
const SILENCE_MS = 60_000;
/** Longest wait, in ms, for the end of a query at its server. */
const GOODBYE_MS = 4000;
type Environment = Readonly<Record<string, string | undefined>>;
const SHELL = '/bin/sh';
const MIB = 1_048_576;
/** Variables that the process does not need: keys, and options of Node.js. */
const withheld = /^(SEARCHFLOW|EXA|TEMPORAL|NODE)_/;

/** Returns the reader of an input, with the units of `template` (null: none). A CSV without a template needs no process of its own. */
export function sourceReader(request: SourceRequest, template: Json | null, env: Environment): RowReader {
  const { input, format, sql, table } = request;
  const isOther = template !== null || (sql ?? table) !== undefined || isPostgresUrl(input) || isAddress(input);
  if (isOther || (format ?? (input === '-' ? 'csv' : (formatOfName(input) ?? 'csv'))) !== 'csv')
    return isolatedReader(request, template, env);
  const isFile = input === '-' || (statSync(input, { throwIfNoEntry: false })?.isFile() ?? !isPattern(input));
  return isFile ? openReader(request) : isolatedReader(request, null, env);
}

/**
 * Returns a reader that reads an input in a process of its own, and renders `template` there for each row (null: none). Memory and time of that
 * process are bounded; it ends when the signal is aborted, when the table is closed, and with this process.
 */
export function isolatedReader(request: SourceRequest, template: Json | null, env: Environment): RowReader {
  return {
    async open(signal) {
      const { stdin, checkFiles, ...others } = request;
      const { input, sql, table } = request;
      const piped = input === '-' ? join(request.scratch, 'piped') : undefined;
      if (piped) await pipeline(stdin, createWriteStream(piped, { mode: 0o600 }), signal ? { signal } : {});
      // DuckDB locks a file for each process.
      const release =
        (sql ?? table) === undefined || isPostgresUrl(input) ? () => {} : await closedWarehouseFile(input);
      const process = startProcess(input, env, signal);
      const close = async () => {
        await process.end();
        release();
      };
      try {
        let message = await process.ask({ ...others, piped, template, isChecked: checkFiles !== undefined });
        for (; message.kind === 'files'; message = await process.ask(NEXT)) await checkFiles?.(message.files);
        return { ...tableOf(process, message as ReaderMessage & { readonly kind: 'table' }), close };
      } catch (error) {
        await close();
        throw error;
      }
    },
  };
}

function tableOf(
  process: ReturnType<typeof startProcess>,
  { header, hash }: ReaderMessage & { readonly kind: 'table' },
): Omit<OpenedTable, 'close'> {
  let end: Pick<ReaderMessage & { readonly kind: 'end' }, 'hash' | 'types'> = { hash, types: undefined };
  let progress: ReturnType<OpenedTable['progress']> = { bytes: 0, total: null };
  /** Asks for records while those before are taken. */
  const askAhead = () => {
    const coming = process.ask(NEXT);
    coming.catch(() => undefined);
    return coming;
  };
  return {
    ...header,
    async *batches() {
      for (let message = await askAhead(); message.kind === 'records'; ) {
        const coming = askAhead();
        progress = message.progress;
        yield message.records.map(readRecord);
        message = await coming;
        if (message.kind === 'end') end = message;
      }
    },
    typesAtEnd: () => end.types ?? header.columns.map(({ type }) => type),
    contentHash: () => end.hash,
    progress: () => progress,
  };
}

/** A record whose cells are parsed when they are needed. */
function readRecord(sent: SentRecord): RowRecord {
  let cells: RowRecord['cells'] | null = null;
  return {
    ...sent,
    get cells() {
      cells ??= JSON.parse(sent.json) as RowRecord['cells'];
      return cells;
    },
  };
}

/** Asks for the next message. */
const NEXT = 'next';

type Answer = Exclude<ReaderMessage, { kind: 'beat' | 'error' }>;

function startProcess(input: string, env: Environment, signal: AbortSignal | undefined) {
  const child = spawnReader(env);
  let arrived = deferred<ReaderMessage | null>();
  let failed: Error | null = null;
  let isSilent = false;
  let silence: NodeJS.Timeout | undefined;
  child.on('message', (message: ReaderMessage) => {
    if (message.kind === 'beat') silence?.refresh();
    else arrived.resolve(message);
  });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', (error) => {
      failed = error;
      resolve();
    });
  });
  void ended.then(() => arrived.resolve(null));
  const kill = () => void child.kill('SIGKILL');
  const end = async () => {
    signal?.removeEventListener('abort', end);
    if (child.connected) child.disconnect();
    // The server cancels its statement.
    const late = setTimeout(kill, isPostgresUrl(input) ? GOODBYE_MS : 0);
    await ended;
    clearTimeout(late);
  };
  signal?.addEventListener('abort', end, { once: true });
  return {
    end,
    /** Returns the next message. Throws the error of the process, and the reason of the abort. */
    async ask(message: IsolatedRequest | typeof NEXT): Promise<Answer> {
      signal?.throwIfAborted();
      arrived = deferred();
      silence = setTimeout(() => {
        isSilent = true;
        kill();
      }, SILENCE_MS);
      child.send(message, () => undefined);
      if (child.exitCode !== null || child.signalCode !== null) arrived.resolve(null);
      const found = await arrived.promise;
      clearTimeout(silence);
      signal?.throwIfAborted();
      if (found === null) throw failed === null ? endedEarly(input, child, isSilent) : notStarted(failed);
      if (found.kind === 'error') throw errorOf(found.error);
      return found as Answer;
    },
  };
}

/** The shell bounds the memory of the process, native memory included. */
function spawnReader(env: Environment): ChildProcess {
  const node = [process.execPath, `--max-old-space-size=${HEAP_MB}`, inPackage('dist', 'bin', 'reader-process.js')];
  const limited = ['-c', 'ulimit -d "$0" 2>/dev/null; exec "$@"', String(MOST_MEMORY / 1024), ...node];
  const [program, ...args] = existsSync(SHELL) ? [SHELL, ...limited] : node;
  return spawn(program as string, args, {
    // Ctrl-C of a terminal ends this process, which ends the other.
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !withheld.test(name))),
    windowsHide: true,
  });
}

const shown = (input: string): string =>
  input === '-' ? 'Standard input' : isAddress(input) ? pathOfAddress(input) : sourceIdentity(input);

function endedEarly(input: string, { signalCode, exitCode }: ChildProcess, isSilent: boolean): CsvError {
  const name = shown(input);
  if (isSilent)
    return new CsvError(
      'sql-too-slow',
      `${name}: reading a row took more than ${SILENCE_MS / 1000} s and was stopped. Make the rows or the template simpler; nothing was bought`,
    );
  return new CsvError(
    'source-out-of-memory',
    `${name}: the process that reads has ended (${signalCode ?? `exit code ${exitCode}`}), most often because reading needs more than ${MOST_MEMORY / MIB} MiB of memory. Select fewer or smaller columns, or make the template simpler; nothing was bought`,
  );
}

const notStarted = (error: Error) =>
  new InputUnsteady(
    'input-unreadable',
    `The process that reads the input could not be started (${error.message}); try again`,
  );

function errorOf({ name, message, code, errorCode, line, column, isTransient }: SentError): Error {
  if (errorCode === undefined) return Object.assign(new Error(message), { name, code });
  const Kind = isTransient ? InputUnsteady : CsvError;
  return new Kind(errorCode, message, line, column);
}
