import type { Readable } from 'node:stream';
import type { Json } from '../core/text/json.js';
import type { SourceRequest } from './open-reader.js';

/** Memory in bytes of a process that reads an input. */
export const MOST_MEMORY = 640 * 1_048_576;

/**
 * Kinds of lines of such a process: `F` files to check, `T` the table, `R` a record, `P` progress, `E` the end, `X` an error, `B` a sign of
 * life.
 */
export type ReaderLine = 'F' | 'T' | 'R' | 'P' | 'E' | 'X' | 'B';

/** The request on the first line. `template`: rendered for each row; null: none. `spool`: path of the text of standard input. */
export interface IsolatedRequest extends Omit<SourceRequest, 'stdin' | 'checkFiles'> {
  readonly spool: string;
  readonly template: Json | null;
  /** Whether each file is checked before it is read. */
  readonly isChecked: boolean;
}

/** Yields the lines of a stream as they arrive. Only a line feed ends a line. */
export async function* linesOf(stream: Readable): AsyncGenerator<string[]> {
  stream.setEncoding('utf8');
  let rest = '';
  for await (const piece of stream as AsyncIterable<string>) {
    // A long line is joined once, at its end.
    if (!piece.includes('\n')) {
      rest += piece;
      continue;
    }
    const lines = (rest + piece).split('\n');
    rest = lines.pop() as string;
    yield lines;
  }
}
