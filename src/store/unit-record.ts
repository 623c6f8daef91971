import type { UnitOutcome, UnitRecord } from '../core/journal.js';

/** The record of a unit that ended, as every journal keeps it and every sink loads it. `at`: Unix ms. */
export function unitRecord(outcome: UnitOutcome, operation: string, requestId: string | null, at: number): UnitRecord {
  return {
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
    result: outcome.result,
    ...(outcome.told === undefined ? {} : { told: outcome.told }),
  };
}
