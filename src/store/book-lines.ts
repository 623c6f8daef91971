import { crc32 } from 'node:zlib';
import type { UnitStatus } from '../core/journal.js';
import type { Json } from '../core/json.js';

/** One unit's place in the book's unit file: key, offset, bytes, CRC-32 of the bytes, status, error tag, cost in micro-dollars. */
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
 * The lines of a book. `intent`: about to buy; `note`: started, and what runs since then; `answer`: bought, and where the bodies
 * are; `miss`: no answer came; `settle`: ended without a purchase.
 */
export type BookLine =
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
    }
  | { readonly t: 'settle'; readonly at: number; readonly op: string; readonly units: readonly UnitEntry[] };

const CRC_DIGITS = 8;

/** A line as it stands in the file: checksum, space, JSON, newline. */
export function encodeLine(line: BookLine): string {
  const json = JSON.stringify(line);
  return `${crc32(json).toString(16).padStart(CRC_DIGITS, '0')} ${json}\n`;
}

/** The line, or `null` where it is torn or its checksum is wrong. Takes the text without its newline. */
export function decodeLine(text: string): BookLine | null {
  if (text.length < CRC_DIGITS + 3 || text[CRC_DIGITS] !== ' ') return null;
  const json = text.slice(CRC_DIGITS + 1);
  if (Number.parseInt(text.slice(0, CRC_DIGITS), 16) !== crc32(json)) return null;
  return JSON.parse(json) as BookLine;
}
