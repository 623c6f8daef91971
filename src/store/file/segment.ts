import { readFileSync } from 'node:fs';
import type { Lost, Started, UnknownOutcome } from '../../core/purchase/journal.js';
import type { Json } from '../../core/text/json.js';
import type { SegmentEnds } from './segment-writer.js';
import type { Intended, SpendSums } from './spend.js';
import { decodeLine, legibleLines, type SegmentLine, type UnitEntry } from './unit-record.js';

type IntentLine = Extract<SegmentLine, { t: 'intent' }>;

/** Effect of a line on its segment. */
interface Taken {
  readonly landed: readonly UnitEntry[];
  /** Keys whose outcome became unknown. */
  readonly unknown: readonly string[];
  /** Keys of a purchase that runs at the service; `found`: the outcome of the purchase had been unknown. */
  readonly noted: { readonly keys: readonly string[]; readonly found: boolean } | null;
}

const nothing: Taken = { landed: [], unknown: [], noted: null };

/** The state of one segment: sums, open intents, unknown outcomes. The reader and the writer update the state line by line. */
export class Segment {
  readonly name: string;
  readonly number: number;
  requests = 0;
  unitsLanded = 0;
  costMicros = 0;
  /** List price of the requests that were answered. */
  listMicros = 0;
  readonly open = new Map<string, IntentLine>();
  /** Whether this process wrote all bodies. If so, the bodies need no verification. */
  writtenHere = false;
  readonly #sums: SpendSums;
  readonly #notes = new Map<string, Json>();
  readonly #lost = new Map<string, { readonly intent: IntentLine; readonly reason: string }>();
  /** Team of the newest intent, which is also used for an answer whose own intent cannot be read. */
  #team = '';

  constructor(name: string, number: number, sums: SpendSums) {
    this.name = name;
    this.number = number;
    this.#sums = sums;
  }

  take(line: SegmentLine): Taken {
    switch (line.t) {
      case 'intent':
        this.open.set(line.id, line);
        this.#team = line.team;
        this.#sums.opened(line.id, this.#asked(line));
        return nothing;
      case 'note':
        return this.#note(line.id, line.facts);
      case 'answer': {
        const intent = this.#forget(line.id);
        this.requests++;
        this.listMicros += intent?.list ?? 0;
        const { length: units } = line.units;
        const charged = line.units.filter(([, , , , status]) => status === 'success').length;
        const answered = { costMicros: this.#count(line.units), units, charged };
        const names = { team: this.#team, segment: this.name, operation: 'unknown', tier: '' };
        this.#sums.landed(line.id, answered, { ...names, at: line.at, estimateMicros: 0, listMicros: 0 });
        return { ...nothing, landed: line.units };
      }
      case 'settle':
        this.#count(line.units);
        return { ...nothing, landed: line.units };
      case 'miss': {
        this.#sums.missed(line.id, line.charged, line.est);
        const intent = this.#forget(line.id);
        if (!intent || line.charged === 'never') return nothing;
        this.#lost.set(line.id, { intent: { ...intent, est: line.est ?? intent.est }, reason: line.why });
        return { ...nothing, unknown: intent.keys };
      }
    }
  }

  /** Purchases without an answer. */
  get unknown(): readonly UnknownOutcome[] {
    return [...this.#lost.values()].map(({ intent, reason }) => ({
      book: this.name,
      operation: intent.op,
      keys: intent.keys,
      intendedAt: intent.at,
      reason,
      estimateMicros: intent.est,
    }));
  }

  /** Returns the note of an open intent; null if there is no note. */
  started(id: string): Started | null {
    const intent = this.open.get(id);
    const facts = this.#notes.get(id);
    return intent && facts !== undefined ? { intentId: id, facts, at: intent.at } : null;
  }

  /** Returns the intent of an unknown outcome; null if there is no such intent. */
  lost(id: string): Lost | null {
    const found = this.#lost.get(id);
    return found ? { intentId: id, at: found.intent.at, deadline: found.intent.deadline } : null;
  }

  /** Why the outcome of an intent is unknown; null if it is not. */
  whyLost(id: string): string | null {
    return this.#lost.get(id)?.reason ?? null;
  }

  /** Sum of the estimates of the open intents that were written since a time (Unix ms). */
  openMicrosSince(since: number): number {
    let sum = 0;
    for (const intent of this.open.values()) if (intent.at >= since) sum += intent.est;
    return sum;
  }

  #note(id: string, facts: Json): Taken {
    const lost = this.#lost.get(id);
    const intent = this.open.get(id) ?? lost?.intent;
    if (!intent) return nothing;
    this.#notes.set(id, facts);
    if (lost) {
      this.#lost.delete(id);
      this.open.set(id, intent);
      this.#sums.found(id, this.#asked(intent));
    }
    return { ...nothing, noted: { keys: intent.keys, found: lost !== undefined } };
  }

  #asked(intent: IntentLine): Intended {
    const { team, op, tier, at, est, list } = intent;
    return { team, segment: this.name, operation: op, tier, at, estimateMicros: est, listMicros: list };
  }

  #forget(id: string): IntentLine | undefined {
    const intent = this.open.get(id);
    this.open.delete(id);
    this.#notes.delete(id);
    return intent;
  }

  /** Counts units and returns their cost in micro-dollars. */
  #count(units: readonly UnitEntry[]): number {
    const micros = units.reduce((sum, unit) => sum + unit[6], 0);
    this.unitsLanded += units.length;
    this.costMicros += micros;
    return micros;
  }
}

/**
 * A damaged range of a segment's file. The incomplete line of an interrupted write is not damage: such a line is the last text and has no
 * line feed.
 */
export interface DamagedStretch {
  /** Offset in the file, in bytes. */
  readonly from: number;
  readonly to: number;
  readonly text: string;
  /** Lines in the range that can be read. */
  readonly legible: readonly SegmentLine[];
}

export interface SegmentContents {
  readonly ends: SegmentEnds;
  readonly damaged: readonly DamagedStretch[];
}

/**
 * Reads a segment's lines up to the last complete line. Text after that line comes from an interrupted write, has no line feed, and is
 * ignored. A line with a wrong checksum (a flipped bit) is damage: see `mend-segment`.
 */
export function readSegment(path: string, each: (line: SegmentLine) => void): SegmentContents {
  const data = readFileSync(path);
  const damaged: DamagedStretch[] = [];
  let from = 0;
  let units = 0;
  const take = (line: SegmentLine) => {
    if (line.t === 'answer' || line.t === 'settle') {
      for (const [, offset, length] of line.units) units = Math.max(units, offset + length);
    }
    each(line);
  };
  for (;;) {
    const end = data.indexOf(10, from);
    const text = data.toString('utf8', from, end < 0 ? data.length : end);
    const line = decodeLine(text);
    const to = end < 0 ? data.length : end + 1;
    // If the last line feed is damaged, the text before it can still be read.
    const legible = line ? [] : legibleLines(text);
    if (end < 0 && legible.length === 0) break;
    if (line) take(line);
    else {
      damaged.push({ from, to, text, legible });
      legible.forEach(take);
    }
    from = to;
    if (end < 0) break;
  }
  // A power cut during a write leaves blocks of zeros at the end.
  while (damaged.at(-1)?.to === from && damaged.at(-1)?.text.includes('\0\0'))
    from = (damaged.pop() as DamagedStretch).from;
  return { ends: { lines: from, units }, damaged };
}
