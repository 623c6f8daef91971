import { crc32 } from 'node:zlib';
import type { UnitStatus } from '../../core/purchase/journal.js';
import type { Json } from '../../core/text/json.js';

/** Entry of a unit in a line: key, offset and length of its body in the unit file, CRC-32, status, error tag, cost in micro-dollars. */
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
 * The lines of a segment. `intent`: a purchase is about to be made; `note`: the purchase runs at the service; `answer`: its answer has
 * landed, with the positions of the bodies; `miss`: no answer came; `settle`: units ended without a purchase.
 */
export type SegmentLine =
  | {
      readonly t: 'intent';
      readonly id: string;
      readonly at: number;
      readonly owner: string;
      readonly op: string;
      readonly keys: readonly string[];
      /** Amount that the purchase takes from a cap, in micro-dollars. */
      readonly est: number;
      /** List price of the purchase, in micro-dollars. */
      readonly list: number;
      readonly tier: string;
      readonly deadline: number;
      /** The team that pays. */
      readonly team: string;
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
      /** Amount that an unknown outcome takes from a cap, in micro-dollars; absent: that of its intent. */
      readonly est?: number;
      /** Text that came instead of an answer; absent if no text came. */
      readonly came?: string;
      /** HTTP status of a refusal or failure, and the wait in ms that it named; absent without one. */
      readonly status?: number;
      readonly wait?: number;
    }
  | { readonly t: 'settle'; readonly at: number; readonly op: string; readonly units: readonly UnitEntry[] };

const CRC_DIGITS = 8;

const checksum = (json: string): string => crc32(json).toString(16).padStart(CRC_DIGITS, '0');

/** A line in the format of the file: checksum, space, JSON, newline. */
export function encodeLine(line: SegmentLine): string {
  const json = JSON.stringify(line);
  return `${checksum(json)} ${json}\n`;
}

/** Parses a line without its newline; null if the line is incomplete or its checksum is wrong. */
export function decodeLine(text: string): SegmentLine | null {
  if (text.length < CRC_DIGITS + 3 || text[CRC_DIGITS] !== ' ') return null;
  const json = text.slice(CRC_DIGITS + 1);
  if (text.slice(0, CRC_DIGITS) !== checksum(json)) return null;
  return JSON.parse(json) as SegmentLine;
}

/** Lines that can be read from damaged text: complete lines with a damaged line feed, or one line whose contents are certain. */
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

/** Parses an intent or a miss that is complete except for its checksum. A wrong bit in such a line loses no answer. */
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
  const texts = [
    line.id,
    line.owner,
    line.op,
    line.tier,
    line.team,
    ...(Array.isArray(line.keys) ? line.keys : [null]),
  ];
  const numbers = [line.at, line.est, line.list, line.deadline];
  return texts.every((one) => typeof one === 'string') && numbers.every((one) => Number.isFinite(one)) ? line : null;
}
