import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ColumnType } from '../core/rows/column-type.js';
import { isAddress, isPattern, pathOfAddress } from '../core/rows/source-fields.js';
import type { Json } from '../core/text/json.js';
import { inPackage } from '../files/package-root.js';
import { isPostgresUrl, parseAddress } from '../postgres/index.js';
import { CsvError, InputUnsteady, type OpenedTable, type RowReader, type RowRecord } from '../rows/index.js';
import { closedWarehouseFile } from '../warehouse/index.js';
import { formatOfName } from './file-format.js';
import { openReader, type SourceRequest } from './open-reader.js';
import { linesOf, MOST_MEMORY } from './reader-lines.js';

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
      const { input, stdin, scratch, checkFiles, ...others } = request;
      const spool = join(scratch, 'piped');
      if (input === '-') await pipeline(stdin, createWriteStream(spool, { mode: 0o600 }), signal ? { signal } : {});
      const isQuery = others.sql !== undefined || others.table !== undefined;
      // DuckDB locks a file for each process.
      const release = isQuery && !isPostgresUrl(input) ? await closedWarehouseFile(input) : () => {};
      const process = startProcess(request, env, signal);
      const close = async () => {
        await process.end();
        release();
      };
      try {
        process.write({ ...others, input, scratch, spool, template, isChecked: checkFiles !== undefined });
        const header = await headerOf(process, checkFiles);
        return { ...header, ...tableOf(process, header), close };
      } catch (error) {
        await close();
        throw error;
      }
    },
  };
}

type Header = Omit<OpenedTable, 'typesAtEnd' | 'batches' | 'contentHash' | 'progress' | 'close'> & {
  readonly isHashed: boolean;
};

async function headerOf(process: ReaderProcess, checkFiles: SourceRequest['checkFiles']): Promise<Header> {
  for (;;) {
    const [line, ...rest] = await process.lines();
    process.giveBack(rest);
    if (line?.[0] === 'T') return { ...(JSON.parse(line.slice(1)) as Header), isRendered: true };
    if (line?.[0] !== 'F') continue;
    await checkFiles?.(JSON.parse(line.slice(1)) as string[]);
    process.write(null);
  }
}

function tableOf(
  process: ReaderProcess,
  { columns, isHashed }: Header,
): Pick<OpenedTable, 'typesAtEnd' | 'batches' | 'contentHash' | 'progress'> {
  let end: { hash: string | null; types?: readonly ColumnType[] } = { hash: isHashed ? '' : null };
  let progress: ReturnType<OpenedTable['progress']> = { bytes: 0, total: null };
  return {
    async *batches() {
      for (;;) {
        const records: RowRecord[] = [];
        for (const line of await process.lines()) {
          if (line[0] === 'R') records.push(new ReadRecord(line));
          else if (line[0] === 'P') progress = JSON.parse(line.slice(1)) as typeof progress;
          else if (line[0] === 'E') {
            end = JSON.parse(line.slice(1)) as typeof end;
            yield records;
            return;
          }
        }
        yield records;
      }
    },
    typesAtEnd: () => end.types ?? columns.map(({ type }) => type),
    contentHash: () => end.hash,
    progress: () => progress,
  };
}

/** A record whose cells are parsed when they are needed. */
class ReadRecord implements RowRecord {
  readonly line: number;
  readonly place: RowRecord['place'];
  readonly problem: RowRecord['problem'];
  readonly unit: RowRecord['unit'];
  readonly json: string;
  #cells: RowRecord['cells'] | null = null;

  constructor(text: string) {
    const tab = text.indexOf('\t');
    const facts = JSON.parse(text.slice(1, tab)) as number | RowRecord;
    const { line, place, problem, unit } =
      typeof facts === 'number' ? { line: facts, place: undefined, problem: null, unit: undefined } : facts;
    this.line = line;
    this.place = place;
    this.problem = problem;
    this.unit = unit;
    this.json = text.slice(tab + 1);
  }

  get cells(): RowRecord['cells'] {
    this.#cells ??= JSON.parse(this.json) as RowRecord['cells'];
    return this.#cells;
  }
}

interface ReaderProcess {
  write(value: unknown): void;
  /** The next lines. Throws the error of the process, and the reason of the abort. */
  lines(): Promise<readonly string[]>;
  giveBack(lines: readonly string[]): void;
  end(): Promise<void>;
}

function startProcess({ input }: SourceRequest, env: Environment, signal: AbortSignal | undefined): ReaderProcess {
  const child = spawnReader(env);
  const stdin = child.stdin as Writable;
  // A process that has ended is noticed by its output.
  stdin.on('error', () => undefined);
  let failed: Error | null = null;
  child.once('error', (error) => {
    failed = error;
  });
  const exited = child.pid === undefined ? Promise.resolve([]) : once(child, 'exit');
  const kill = () => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
  };
  const end = async () => {
    signal?.removeEventListener('abort', end);
    stdin.end();
    // The server cancels its statement.
    const late = setTimeout(kill, isPostgresUrl(input) ? GOODBYE_MS : 0);
    await exited.catch(() => undefined);
    clearTimeout(late);
  };
  signal?.addEventListener('abort', end, { once: true });
  const output = linesOf(child.stdio[3] as Readable);
  let kept: readonly string[] = [];
  let isSilent = false;
  return {
    write: (value) => void stdin.write(`${JSON.stringify(value)}\n`),
    giveBack: (lines) => {
      kept = lines;
    },
    end,
    async lines() {
      const lines = kept.length > 0 ? kept : await next();
      kept = [];
      const wrong = lines.find((line) => line[0] === 'X');
      if (wrong === undefined) return lines;
      signal?.throwIfAborted();
      throw errorOf(JSON.parse(wrong.slice(1)) as SentError);
    },
  };

  async function next(): Promise<readonly string[]> {
    const silence = setTimeout(() => {
      isSilent = true;
      kill();
    }, SILENCE_MS);
    signal?.throwIfAborted();
    const found = await output.next().catch(() => ({ done: true as const, value: undefined }));
    clearTimeout(silence);
    if (!found.done) return found.value;
    await exited.catch(() => undefined);
    signal?.throwIfAborted();
    throw failed === null ? endedEarly(input, child, isSilent) : notStarted(failed);
  }
}

/** The shell bounds the memory of the process, native memory included. */
function spawnReader(env: Environment): ChildProcess {
  const node = [process.execPath, `--max-old-space-size=${HEAP_MB}`, inPackage('dist', 'bin', 'reader-process.js')];
  const limited = ['-c', 'ulimit -d "$0" 2>/dev/null; exec "$@"', String(MOST_MEMORY / 1024), ...node];
  const [program, ...args] = existsSync(SHELL) ? [SHELL, ...limited] : node;
  return spawn(program as string, args, {
    // Ctrl-C of a terminal ends this process, which ends the other.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !withheld.test(name))),
    windowsHide: true,
  });
}

function shown(input: string): string {
  if (isPostgresUrl(input)) return parseAddress(input, '').shown;
  if (input === '-') return 'Standard input';
  return isAddress(input) ? pathOfAddress(input) : input;
}

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

interface SentError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly errorCode?: CsvError['errorCode'];
  readonly line?: number | null;
  readonly column?: number | null;
  readonly isTransient: boolean;
}

function errorOf({ name, message, code, errorCode, line, column, isTransient }: SentError): Error {
  if (errorCode === undefined) return Object.assign(new Error(message), { name, code });
  const Kind = isTransient ? InputUnsteady : CsvError;
  return new Kind(errorCode, message, line, column);
}
