// The process that reads an input and renders its template: SQL, files and templates of others may need any amount of memory and time, and end
// this process alone. On stdin it gets lines: the request, then an answer to each `F`. It writes lines to descriptor 3, see `ReaderLine`. It
// ends with its stdin.
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type CsvError,
  InputUnsteady,
  type OpenedTable,
  type RowRecord,
  type RowUnit,
  rendering,
  wholeTexts,
} from '../rows/index.js';
import { openReader } from './open-reader.js';
import { type IsolatedRequest, linesOf, MOST_MEMORY, type ReaderLine } from './reader-lines.js';

const BEAT_MS = 1000;
const WATCH_MS = 20;
/** Longest wait, in ms, for the end of a query at its server. */
const GOODBYE_MS = 3000;

const out = new Socket({ fd: 3, readable: false, writable: true });
const stop = new AbortController();
let isAtServer = false;
let go = () => {};

// Native code may never return, and an exit would wait for it.
const end = () => process.kill(process.pid, 'SIGKILL');
out.once('error', end);
for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, (error) => void fail(error));
const beat = setInterval(() => out.write('B\n'), BEAT_MS).unref();
// Most systems bound the memory, too, see `isolatedReader`.
setInterval(() => {
  if (process.memoryUsage.rss() > MOST_MEMORY) end();
}, WATCH_MS).unref();

let isBegun = false;
for await (const lines of linesOf(process.stdin))
  for (const line of lines) {
    if (isBegun) go();
    else void read(JSON.parse(line) as IsolatedRequest).catch(fail);
    isBegun = true;
  }
stop.abort();
if (isAtServer) await delay(GOODBYE_MS);
end();

async function read({ template, spool, isChecked, ...request }: IsolatedRequest): Promise<void> {
  isAtServer = /^postgres/i.test(request.input);
  const reader = openReader({
    ...request,
    stdin: request.input === '-' ? createReadStream(spool) : Readable.from([]),
    checkFiles: isChecked ? askParent : undefined,
  });
  await send(wholeTexts(await reader.open(stop.signal)), template);
}

async function askParent(files: readonly string[]): Promise<void> {
  const allowed = new Promise<void>((resolve) => {
    go = resolve;
  });
  await say('F', files);
  await allowed;
}

async function send(table: OpenedTable, template: IsolatedRequest['template']): Promise<void> {
  const { columns, renamed, isTyped, delimiter, bom, notes } = table;
  const names = columns.map(({ name }) => name);
  const render = template === null ? () => undefined : await rendering(template, names);
  await say('T', { columns, renamed, isTyped, delimiter, bom, notes, isHashed: table.contentHash() !== null });
  for await (const batch of table.batches()) {
    const text = batch.map((record) => {
      const isWhole = record.problem === null && record.cells.length === columns.length;
      return lineOf(record, isWhole ? render(record) : undefined);
    });
    if (!out.write(text.join(''))) await once(out, 'drain');
    await say('P', table.progress());
  }
  await table.close();
  await sayLast('E', { hash: table.contentHash(), types: table.typesAtEnd?.() });
}

/** `R`, the facts of a record as JSON, a tab, and its cells as JSON. */
function lineOf({ line, place, problem, json }: RowRecord, unit: RowUnit | undefined): string {
  const isPlain = place === undefined && problem === null && unit === undefined;
  return `R${isPlain ? line : JSON.stringify({ line, place, problem, unit })}\t${json}\n`;
}

async function say(kind: ReaderLine, value: unknown): Promise<void> {
  if (!out.write(`${kind}${JSON.stringify(value)}\n`)) await once(out, 'drain');
}

async function fail(error: unknown): Promise<void> {
  const { name, message, code, errorCode, line, column } = error as CsvError & { readonly code?: string };
  const isTransient = error instanceof InputUnsteady;
  await sayLast('X', { name, message: message ?? String(error), code, errorCode, line, column, isTransient });
}

/** A beat after the end would be an error, and end the process before a slow parent has its last lines. */
async function sayLast(kind: ReaderLine, value: unknown): Promise<void> {
  clearInterval(beat);
  await say(kind, value);
  out.end(end);
}
