import type { UnitOutcome } from '../../core/purchase/journal.js';
import { jsonText } from '../../core/text/json.js';

/**
 * The line (without its end) of a unit that ended, as every journal keeps it and every sink loads it: a `UnitRecord`. The result stands
 * last, as it came: a sink that keeps texts cuts it out behind the first `,"result":`, and `v` says that it can. What is told beside
 * it is a text for the same reason. `at`: Unix ms.
 */
export function unitLine(outcome: UnitOutcome, operation: string, requestId: string | null, at: number): string {
  const { misread, told } = outcome;
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
    ...(told === undefined ? {} : { told: JSON.stringify(told) }),
  });
  return `${head.slice(0, -1)},"result":${jsonText(outcome.result)}}`;
}
