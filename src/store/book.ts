import { readFileSync } from 'node:fs';
import type { UnknownOutcome } from '../core/journal.js';
import { type BookLine, decodeLine, type UnitEntry } from './book-lines.js';
import type { BookEnds } from './book-writer.js';
import type { SpendSums } from './spend-sums.js';

type IntentLine = Extract<BookLine, { t: 'intent' }>;

/** What one book says so far: sums, open intents, unknown outcomes. Fed line by line, by the reader and by the writer alike. */
export class Book {
  readonly name: string;
  readonly number: number;
  requests = 0;
  unitsLanded = 0;
  costMicros = 0;
  readonly open = new Map<string, IntentLine>();
  readonly unknown: UnknownOutcome[] = [];
  /** All its bodies were written by this process, and need no second look. */
  writtenHere = false;
  readonly #sums: SpendSums;
  /** Team of the newest intent: an answer whose own intent can't be read is taken for its. */
  #team = '';

  constructor(name: string, number: number, sums: SpendSums) {
    this.name = name;
    this.number = number;
    this.#sums = sums;
  }

  /** Takes a line in; answers with the units that it landed and the keys whose outcome it made unknown. */
  take(line: BookLine): { readonly landed: readonly UnitEntry[]; readonly unknown: readonly string[] } {
    switch (line.t) {
      case 'intent':
        this.open.set(line.id, line);
        this.#team = line.team ?? '';
        this.#sums.opened(line.id, {
          team: this.#team,
          book: this.name,
          operation: line.op,
          at: line.at,
          estimateMicros: line.est,
        });
        return { landed: [], unknown: [] };
      case 'answer':
        this.open.delete(line.id);
        this.requests++;
        this.#sums.landed(line.id, this.#count(line.units), line.units.length, {
          team: this.#team,
          book: this.name,
          operation: 'unknown',
          at: line.at,
          estimateMicros: 0,
        });
        return { landed: line.units, unknown: [] };
      case 'settle':
        this.#count(line.units);
        return { landed: line.units, unknown: [] };
      case 'miss':
        this.#sums.missed(line.id, line.charged);
        return { landed: [], unknown: line.charged === 'maybe' ? this.lose(line.id, line.why) : this.#forget(line.id) };
    }
  }

  /** An open intent whose answer will not come becomes an unknown outcome; answers with its keys. */
  lose(id: string, reason: string): readonly string[] {
    const intent = this.open.get(id);
    if (!intent) return [];
    this.open.delete(id);
    this.unknown.push({
      book: this.name,
      operation: intent.op,
      keys: intent.keys,
      intendedAt: intent.at,
      reason,
      estimateMicros: intent.est,
    });
    return intent.keys;
  }

  get openMicros(): number {
    let sum = 0;
    for (const intent of this.open.values()) sum += intent.est;
    return sum;
  }

  #forget(id: string): readonly string[] {
    this.open.delete(id);
    return [];
  }

  /** Answers with what the units cost. */
  #count(units: readonly UnitEntry[]): number {
    const micros = units.reduce((sum, unit) => sum + unit[6], 0);
    this.unitsLanded += units.length;
    this.costMicros += micros;
    return micros;
  }
}

/**
 * Reads a book's lines up to its last whole one. A line with a wrong checksum in between (a flipped bit) is passed over and
 * counted: what it acknowledged then counts as not landed, and shows as an unknown outcome.
 */
export function readBook(
  path: string,
  each: (line: BookLine) => void,
): { readonly ends: BookEnds; readonly damaged: number } {
  const data = readFileSync(path);
  let from = 0;
  let good = 0;
  let units = 0;
  let damaged = 0;
  let skipped = 0;
  for (;;) {
    const end = data.indexOf(10, from);
    if (end < 0) break;
    const line = decodeLine(data.toString('utf8', from, end));
    from = end + 1;
    if (!line) {
      skipped++;
      continue;
    }
    damaged += skipped;
    skipped = 0;
    good = from;
    if (line.t === 'answer' || line.t === 'settle') {
      for (const [, offset, length] of line.units) units = Math.max(units, offset + length);
    }
    each(line);
  }
  return { ends: { lines: good, units }, damaged };
}
