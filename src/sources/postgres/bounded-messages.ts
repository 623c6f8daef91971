import type { Duplex } from 'node:stream';
import type { ClientBase } from 'pg';
import { CsvError, MAX_RECORD } from '../../rows/index.js';

/** Bytes of the longest message of a server. The text of a `bytea` has twice as many bytes as its value. */
const MOST_BYTES = 2.5 * MAX_RECORD;
const HEADER = 5;
const DATA_ROW = 'D'.charCodeAt(0);

/** The messages of a connection. */
export interface BoundedMessages {
  /** Counts the rows from here on. */
  startRows(): void;
}

/** Cuts a connection before the driver collects a message above the limit: it would throw outside of any promise, or take all memory. */
export function boundMessages(client: ClientBase, onCut: (problem: CsvError) => void): BoundedMessages {
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection;
  let [head, left, rows] = [Buffer.alloc(0), 0, 0];
  let problem: CsvError | null = null;
  const begin = (code: number, length: number) => {
    left = length - 4;
    if (code === DATA_ROW) rows++;
    if (left <= MOST_BYTES || problem !== null) return;
    problem =
      code === DATA_ROW
        ? new CsvError(
            'input-too-large',
            `row ${rows}: the row has more than ${MAX_RECORD / 1_048_576} MiB, which is the limit`,
          )
        : new CsvError('sql-failed', `The SQL fails: the answer of PostgreSQL has ${Math.ceil(left / 1_048_576)} MiB`);
    onCut(problem);
    stream.destroy();
  };
  stream.prependListener('data', (chunk: Buffer) => {
    for (let at = 0; at < chunk.length && problem === null; ) {
      if (left > 0) {
        const skipped = Math.min(left, chunk.length - at);
        left -= skipped;
        at += skipped;
      } else if (head.length === 0 && chunk.length - at >= HEADER) {
        begin(chunk[at] as number, chunk.readUInt32BE(at + 1));
        at += HEADER;
      } else {
        const more = chunk.subarray(at, at + HEADER - head.length);
        head = Buffer.concat([head, more]);
        at += more.length;
        if (head.length < HEADER) continue;
        begin(head[0] as number, head.readUInt32BE(1));
        head = Buffer.alloc(0);
      }
    }
  });
  return {
    startRows() {
      rows = 0;
    },
  };
}
