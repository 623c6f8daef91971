import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { z } from 'zod';
import { canonicalJson } from '../../core/text/json.js';

/** The purchase of one answered request, or the charge for a run that an earlier request started. */
const purchaseSchema = z.object({
  /** `contents`, `search`, `answer`, `findSimilar`, `createAgentRun`, `createResearchTask`, `monitorRun`. */
  operation: z.string(),
  /** Canonical options that are part of the purchase; empty for the default options. */
  options: z.string(),
  /** The paid units: URLs, or the canonical request. */
  units: z.array(z.string()).readonly(),
  /** Requested units that failed: free, but recorded. */
  failed: z.array(z.string()).readonly(),
  micros: z.number().int(),
  /** Id of the charged run. A run is charged at its end, long after the request that started it was answered. */
  run: z.string().optional(),
  /** Id of the run that this request starts, for the key of its later charge. */
  starts: z.string().optional(),
  /** Id of the key that pays, see `keyIdOf`; absent for a scheduled run of a monitor. */
  key: z.string().optional(),
  /** Time of the charge, in Unix ms. */
  at: z.number().optional(),
});

export type Sale = z.infer<typeof purchaseSchema>;

/** The purchase of one whole request, streamed or not. `starts`: id of the run that it starts, which is charged at its end. */
export function saleOf(operation: string, request: unknown, micros: number, starts?: string): Sale {
  const { stream: _, ...unit } = Object(request) as Record<string, unknown>;
  return { operation, options: '', units: [canonicalJson(unit)], failed: [], micros, starts };
}

/** A line of the file: a purchase, a change of state, the credits in micro-dollars (null: no limit), or the mark of a start. */
const lineSchema = z.union([
  purchaseSchema,
  z.object({ fact: z.object({ kind: z.string(), value: z.unknown() }) }),
  z.object({ credits: z.number().int().nullable() }),
  z.object({ start: z.number().int() }),
]);

type LogLine = z.infer<typeof lineSchema>;

/** A change of state that a later process needs, see `Ledger.facts`. */
export type LoggedFact = Extract<LogLine, { readonly fact: unknown }>['fact'];

/**
 * Opens or creates a file of JSON lines and passes its lines to `read`. A torn last line is dropped. Throws for any other bad
 * line. Returns the descriptor.
 */
export function openLog(path: string, read: (line: LogLine) => void): number {
  const fd = openSync(path, 'a+', 0o600);
  try {
    // The log of a million units is longer than JavaScript's longest string, so the lines become texts one by one.
    const bytes = readFileSync(fd);
    let [from, number] = [0, 1];
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, from)) {
      const line = lineOf(bytes.toString('utf8', from, end));
      if (!line) throw new Error(`${path}, line ${number}: not a line of a purchase log`);
      read(line);
      from = end + 1;
      number += 1;
    }
    ftruncateSync(fd, from);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Each line is written whole before its answer is sent, so the line survives SIGKILL of this process. */
export function writeLine(fd: number, line: LogLine): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
}

function lineOf(text: string): LogLine | undefined {
  try {
    return lineSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
