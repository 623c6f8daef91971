import { closeSync, createReadStream, ftruncateSync, openSync, writeSync } from 'node:fs';
import { z } from 'zod';
import type { Purchase } from './purchase-log.js';

/** A line of the file: a purchase, a change of the credits, a change of state, or the mark of a start. */
const lineSchema = z.union([
  z.object({
    operation: z.string(),
    options: z.string(),
    units: z.array(z.string()),
    failed: z.array(z.string()),
    micros: z.number().int(),
    run: z.string().optional(),
    starts: z.string().optional(),
    key: z.string().optional(),
    at: z.number().optional(),
  }),
  z.object({ fact: z.looseObject({ kind: z.string() }) }),
  z.object({ credits: z.number().int().nullable() }),
  z.object({ start: z.number().int() }),
]);

/** Receives the content of an earlier process's file, line by line. */
export interface LogReader {
  purchase(purchase: Purchase): void;
  /** Credits that were set by hand, in micro-dollars; null: no limit. */
  credits(micros: number | null): void;
  /** A change of state. */
  fact(fact: Fact): void;
}

/**
 * The purchase log and the state on disk, as JSON lines. Each line is written whole before its answer is sent, so the line survives SIGKILL
 * of this process.
 */
export class LogFile {
  readonly #fd: number;
  /** Number of earlier openings of the file. */
  readonly starts: number;

  private constructor(fd: number, starts: number) {
    this.#fd = fd;
    this.starts = starts;
  }

  /**
   * Opens or creates the file and passes its lines to the reader. A torn last line is dropped. Throws for any other bad line.
   */
  static async open(path: string, reader: LogReader): Promise<LogFile> {
    const fd = openSync(path, 'a+', 0o600);
    try {
      const { starts, end } = await readLines(path, reader);
      ftruncateSync(fd, end);
      const file = new LogFile(fd, starts);
      file.#write({ start: starts + 1 });
      return file;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  purchase({ operation, options, units, failed, micros, run, starts, key, at }: Purchase): void {
    this.#write({ operation, options, units, failed, micros, run, starts, key, at });
  }

  fact(fact: Fact): void {
    this.#write({ fact });
  }

  credits(micros: number | null): void {
    this.#write({ credits: micros });
  }

  reset(): void {
    ftruncateSync(this.#fd, 0);
  }

  close(): void {
    closeSync(this.#fd);
  }

  #write(line: unknown): void {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#fd, bytes, done);
  }
}

/** Reads the file in pieces, each of whole lines: the log of a million units is longer than JavaScript's longest string. */
async function readLines(path: string, reader: LogReader): Promise<{ starts: number; end: number }> {
  let rest = Buffer.alloc(0);
  let end = 0;
  let number = 0;
  let starts = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    const bytes = Buffer.concat([rest, chunk as Buffer]);
    let from = 0;
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, from)) {
      number += 1;
      starts += readLine(bytes.toString('utf8', from, at), `${path}, line ${number}`, reader);
      from = at + 1;
    }
    end += from;
    rest = bytes.subarray(from);
  }
  return { starts, end };
}

/** Passes one line to the reader. Returns 1 for the mark of a start, otherwise 0. */
function readLine(text: string, position: string, reader: LogReader): number {
  const line = lineSchema.safeParse(parseJson(text));
  if (!line.success) throw new Error(`${position}: not a line of a purchase log`);
  if ('start' in line.data) return 1;
  if ('fact' in line.data) reader.fact(line.data.fact);
  else if ('credits' in line.data) reader.credits(line.data.credits);
  else reader.purchase(line.data);
  return 0;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A change of state that a later process needs. `kind` names the store that restores the fact. */
export interface Fact {
  readonly kind: string;
  readonly [name: string]: unknown;
}

/** Writes a fact before the answer that depends on it is sent. Facts keep their order. */
export type WriteFact = (fact: Fact) => void;

/** Restores a fact of an earlier process. Returns false if the kind of the fact is unknown; throws if the fact is malformed. */
export type RestoreFact = (fact: unknown) => boolean;
