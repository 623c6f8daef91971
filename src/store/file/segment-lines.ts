import { crc32 } from 'node:zlib';
import type { UnitStatus } from '../../core/purchase/journal.js';
import type { Json } from '../../core/text/json.js';

/** One unit's place in the segment's unit file: key, offset, bytes, CRC-32 of the bytes, status, error tag, cost in micro-dollars. */
export type UnitEntry = readonly [
  key: string,
  offset: number,
  length: number,
  crc: number,
  status: UnitStatus,
  tag: string | null,
  micros: number,
];

/**
 * The lines of a segment. `intent`: about to buy; `note`: started, and what runs since then; `answer`: bought, and where the bodies
 * are; `miss`: no answer came; `settle`: ended without a purchase.
 */
export type SegmentLine =
  | {
      readonly t: 'intent';
      readonly id: string;
      readonly at: number;
      readonly owner: string;
      readonly op: string;
      readonly keys: readonly string[];
      /** What it takes from a cap. */
      readonly est: number;
      /** Its list price; absent where that is the same, and in lines of the first version. */
      readonly list?: number;
      /** Absent where it is the empty text. */
      readonly tier?: string;
      readonly deadline: number;
      /** Whose money it is; absent in lines of the first version, and where nobody said. */
      readonly team?: string;
    }
  | { readonly t: 'note'; readonly id: string; readonly at: number; readonly facts: Json }
  | {
      readonly t: 'answer';
      readonly id: string;
      readonly at: number;
      readonly req: string | null;
      readonly units: readonly UnitEntry[];
    }
  | {
      readonly t: 'miss';
      readonly id: string;
      readonly at: number;
      readonly why: string;
      readonly charged: 'never' | 'maybe';
      /** What came in the place of an answer; absent where nothing did, and from the first version. */
      readonly came?: string;
    }
  | { readonly t: 'settle'; readonly at: number; readonly op: string; readonly units: readonly UnitEntry[] };

const CRC_DIGITS = 8;

const checksum = (json: string): string => crc32(json).toString(16).padStart(CRC_DIGITS, '0');

/** A line as it stands in the file: checksum, space, JSON, newline. */
export function encodeLine(line: SegmentLine): string {
  const json = JSON.stringify(line);
  return `${checksum(json)} ${json}\n`;
}

/** The line, or `null` where it is torn or its checksum is wrong. Takes the text without its newline. */
export function decodeLine(text: string): SegmentLine | null {
  if (text.length < CRC_DIGITS + 3 || text[CRC_DIGITS] !== ' ') return null;
  const json = text.slice(CRC_DIGITS + 1);
  if (text.slice(0, CRC_DIGITS) !== checksum(json)) return null;
  return JSON.parse(json) as SegmentLine;
}

/** What is to be read of damaged text: whole lines whose line feed was damaged, or one line whose facts are beyond doubt. */
export function legibleLines(text: string): readonly SegmentLine[] {
  const starts = [...text.matchAll(/[0-9a-f]{8} \{"t":"/g)].map(({ index }) => index);
  const lines = starts.flatMap((start, at) => {
    const end = starts[at + 1] ?? text.length;
    return decodeLine(text.slice(start, end)) ?? decodeLine(text.slice(start, end - 1)) ?? [];
  });
  if (lines.length > 0) return lines;
  const line = parsed(text.slice(CRC_DIGITS + 1));
  return line ? [line] : [];
}

/** An intent that is whole but for its checksum, or a miss: where either is off by a bit, no answer is lost by it. */
function parsed(json: string): SegmentLine | null {
  let line: SegmentLine;
  try {
    line = JSON.parse(json) as SegmentLine;
  } catch {
    return null;
  }
  if (line?.t === 'miss') {
    const whole = typeof line.id === 'string' && Number.isFinite(line.at) && typeof line.why === 'string';
    return whole && ['never', 'maybe'].includes(line.charged) ? line : null;
  }
  if (line?.t !== 'intent') return null;
  const texts = [line.id, line.owner, line.op, ...(Array.isArray(line.keys) ? line.keys : [null])];
  const numbers = [line.at, line.est, line.deadline];
  return texts.every((one) => typeof one === 'string') && numbers.every((one) => Number.isFinite(one)) ? line : null;
}
