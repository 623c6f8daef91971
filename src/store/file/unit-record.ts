import { RESULT_MARK, type UnitOutcome } from '../../core/purchase/journal.js';
import { jsonText } from '../../core/text/json.js';

/** What follows the result in the line of a unit's outcome. */
export const UNIT_END = '}';

/** Returns the line of a unit's outcome, without newline: a `UnitRecord`, which journals keep and warehouses load. `at`: Unix ms. */
export function unitLine(outcome: UnitOutcome, operation: string, requestId: string | null, at: number): string {
  return `${unitHead(outcome, operation, requestId, at)}${jsonText(outcome.result)}${UNIT_END}`;
}

/**
 * Returns the line of a unit's outcome up to its result. The result comes last and unchanged, because a warehouse takes the text after the
 * first `RESULT_MARK` as the result. So the whole status (`told`) is a JSON text: its escaped quotes keep the mark out of the status.
 */
export function unitHead(outcome: UnitOutcome, operation: string, requestId: string | null, at: number): string {
  const { misread, wholeStatus } = outcome;
  const head = JSON.stringify({
    key: outcome.key,
    unit: outcome.unit,
    operation,
    request_id: requestId,
    fetched_at: new Date(at).toISOString(),
    cost_micros: outcome.costMicros,
    status: outcome.status,
    error_tag: outcome.errorTag,
    http_status: outcome.httpStatus,
    source: outcome.source,
    misread,
    told: wholeStatus === undefined ? undefined : JSON.stringify(wholeStatus),
  });
  return head.slice(0, -1) + RESULT_MARK;
}
