import { crc32 } from 'node:zlib';
import { RESULT_MARK, type UnitOutcome, type UnitStatus } from '../../core/purchase/journal.js';
import { type Json, jsonText, RawJson } from '../../core/text/json.js';

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

const json = (value: unknown): string => JSON.stringify(value);

/** What follows the result in the line of a unit's outcome. */
const UNIT_END = '}';

/** Returns the line of a unit's outcome, without newline: a `UnitRecord`, which journals keep and warehouses load. `at`: Unix ms. */
export function unitLine(outcome: UnitOutcome, operation: string, requestId: string | null, at: number): string {
  return `${unitHeads(operation, requestId, at)(outcome)}${jsonText(outcome.result)}${UNIT_END}`;
}

/**
 * Returns a function that makes the lines of one answer up to their results. The result comes last and unchanged, because a warehouse takes
 * the text after the first `RESULT_MARK` as the result. So the whole status (`told`) is a JSON text: its escaped quotes keep the mark out of
 * the status.
 */
export function unitHeads(operation: string, requestId: string | null, at: number): (outcome: UnitOutcome) => string {
  const shared = { operation, request_id: requestId, fetched_at: new Date(at).toISOString() };
  const members = json(shared).slice(1, -1);
  // A template is three times as fast as one `JSON.stringify` of an object.
  return ({ key, unit, costMicros, status, errorTag, httpStatus, source, misread, wholeStatus, by }) => {
    const ended = `"cost_micros":${costMicros},"status":"${status}","error_tag":${json(errorTag)},"http_status":${httpStatus}`;
    const paid = by === undefined ? '' : `,"by":${json(by)}`;
    const odd = misread === undefined ? '' : `,"misread":${json(misread)}`;
    const told = wholeStatus === undefined ? '' : `,"told":${json(json(wholeStatus))}`;
    return `{"key":${json(key)},"unit":${json(unit)},${members},${ended},"source":${json(source)}${paid}${odd}${told}${RESULT_MARK}`;
  };
}

/** The end of a line of the unit file, after its result. */
export const LINE_END = Buffer.from(`${UNIT_END}\n`);

/** A unit's outcome, and its line for the unit file: the head, the result and `LINE_END`. */
export interface UnitLine {
  readonly outcome: UnitOutcome;
  readonly head: string;
  readonly result: string | Uint8Array;
  /** Length of the line. */
  readonly bytes: number;
}

/** Length of these lines in bytes. */
export const bytesOf = (units: readonly UnitLine[]): number => units.reduce((sum, { bytes }) => sum + bytes, 0);

/** The lines of the outcomes of one answer. `at`: Unix ms. */
export function toLines(
  outcomes: readonly UnitOutcome[],
  operation: string,
  requestId: string | null,
  at: number,
): readonly UnitLine[] {
  const headOf = unitHeads(operation, requestId, at);
  return outcomes.map((outcome) => {
    const head = headOf(outcome);
    const result = outcome.result instanceof RawJson ? outcome.result.json : JSON.stringify(outcome.result);
    const bytes = Buffer.byteLength(head) + Buffer.byteLength(result) + LINE_END.length;
    return { outcome, head, result, bytes };
  });
}
