import { RESULT_MARK, type UnitOutcome } from '../../core/purchase/journal.js';
import { jsonText, RawJson } from '../../core/text/json.js';

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
export const LINE_END = `${UNIT_END}\n`;

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
