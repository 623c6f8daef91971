import type { UnitOutcome } from '../../core/purchase/journal.js';
import { jsonText } from '../../core/text/json.js';

/**
 * The line of a unit's outcome, without newline, as journals keep it and warehouses load it: a `UnitRecord`. The result comes last and
 * unchanged: a warehouse takes its text after the first `,"result":`. So the whole status (`told`, an old name in stored records) is a JSON
 * text: its quotes are escaped, so it cannot contain this sequence. `v`: 2, the version of the format. `at`: Unix ms.
 */
export function unitLine(outcome: UnitOutcome, operation: string, requestId: string | null, at: number): string {
  const { misread, wholeStatus } = outcome;
  const head = JSON.stringify({
    v: 2,
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
    ...(misread === undefined ? {} : { misread }),
    ...(wholeStatus === undefined ? {} : { told: JSON.stringify(wholeStatus) }),
  });
  return `${head.slice(0, -1)},"result":${jsonText(outcome.result)}}`;
}
