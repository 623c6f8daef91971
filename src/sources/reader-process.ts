// The process that reads an input and renders its template: SQL, files and templates of others may need any amount of memory and time, and end
// this process alone. It gets a request, and then a message for each message that its parent can take, see `ReaderMessage`. It ends when its
// parent disconnects.
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type CsvError, InputUnsteady, rendering, wholeTexts } from '../rows/index.js';
import { openReader } from './open-reader.js';
import { type IsolatedRequest, MOST_MEMORY, type ReaderMessage } from './reader-messages.js';

const BEAT_MS = 1000;
const WATCH_MS = 20;
/** Longest wait, in ms, for the end of a query at its server. */
const GOODBYE_MS = 3000;

const stop = new AbortController();
let isAtServer = false;
let reading = Promise.resolve();

// Native code may never return, and an exit would wait for it.
const end = (): void => void process.kill(process.pid, 'SIGKILL');
const send = (message: ReaderMessage) => process.send?.(message, undefined, undefined, () => undefined);
const fail = (error: unknown) => {
  // A value that no memory is left for: the end of this process says so.
  if (error instanceof RangeError) return end();
  const { name, message = String(error), code, errorCode, line, column } = error as CsvError & { code?: string };
  send({
    kind: 'error',
    error: { name, message, code, errorCode, line, column, isTransient: error instanceof InputUnsteady },
  });
};

process.on('disconnect', async () => {
  stop.abort();
  if (isAtServer) await Promise.race([reading, delay(GOODBYE_MS)]);
  end();
});
if (!process.connected) end();
for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, fail);
setInterval(() => send({ kind: 'beat' }), BEAT_MS);
// Most systems bound the memory, too, see `isolatedReader`.
setInterval(() => {
  if (process.memoryUsage.rss() > MOST_MEMORY) end();
}, WATCH_MS);

const [request] = (await once(process, 'message')) as [IsolatedRequest];
reading = read(request).catch(fail);

/** Sends a message, and waits until the parent can take the next one. */
async function tell(message: ReaderMessage): Promise<void> {
  const isAsked = once(process, 'message', { signal: stop.signal });
  send(message);
  await isAsked;
}

async function read({ template, isChecked, ...request }: IsolatedRequest): Promise<void> {
  isAtServer = /^postgres/i.test(request.input);
  const reader = openReader({
    ...request,
    stdin: request.piped ? createReadStream(request.piped) : Readable.from([]),
    checkFiles: isChecked ? (files) => tell({ kind: 'files', files }) : undefined,
  });
  const table = wholeTexts(await reader.open(stop.signal));
  const { columns, renamed, isTyped, delimiter, bom, notes } = table;
  const names = columns.map(({ name }) => name);
  const render = template === null ? () => undefined : await rendering(template, names);
  const header = { columns, renamed, isTyped, delimiter, bom: bom ?? false, notes, isRendered: true };
  await tell({ kind: 'table', header, hash: table.contentHash() });
  for await (const batch of table.batches()) {
    const records = batch.map((record) => {
      const { line, place, problem, json = '' } = record;
      const isWhole = problem === null && record.cells.length === columns.length;
      return { line, json, problem, place, unit: isWhole ? render(record) : undefined };
    });
    await tell({ kind: 'records', records, progress: table.progress() });
  }
  await table.close();
  send({ kind: 'end', hash: table.contentHash(), types: table.typesAtEnd?.() });
}
