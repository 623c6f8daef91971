import { ENDED_WITH_JOB, type UnitRecord } from '../../core/purchase/journal.js';
import { leftOut } from '../../core/rows/row-operation.js';
import type { KnownAnswer } from '../../core/rows/row-warehouse.js';
import { type Json, RawJson } from '../../core/text/json.js';

/** Rows of `row_store` (alias `e`) that hold an answer to one of these keys. `stale` is a condition. Both databases accept this SQL. */
const holding = (keys: string, stale: string) => `FROM row_store e WHERE e.unit_key ${keys}
  AND e.fetched_at IS NOT NULL AND e.error_tag IS DISTINCT FROM '${ENDED_WITH_JOB}' AND NOT ${stale}`;

/** Key and cost of each answer. If rows share an answer, only the first of these rows has the cost of the answer. */
export const knownSql = (keys: string, stale: string): string =>
  `SELECT e.unit_key, max(e.cost_micros) AS micros ${holding(keys, stale)} GROUP BY e.unit_key`;

/** The newest answer of each key, as {@link AnswerRow}. */
export const answersSql = (keys: string, stale: string, fetchedMs: string, response: string, exact: string): string =>
  `SELECT DISTINCT ON (e.unit_key) e.unit_key, e.url, e.request_id, ${fetchedMs} AS fetched_ms, e.status, e.error_tag, e.http_status,
     e.source, ${response} AS response, ${exact} AS exact ${holding(keys, stale)} ORDER BY e.unit_key, e.fetched_at DESC, e.error_tag NULLS FIRST`;

export interface AnswerRow {
  readonly unit_key: string;
  readonly url: string | null;
  readonly request_id: string | null;
  readonly fetched_ms: number | string;
  readonly status: string;
  readonly error_tag: string | null;
  readonly http_status: number | null;
  readonly source: string | null;
  readonly response: string | null;
  /** The original record of the unit, if the database cannot hold it unchanged. */
  readonly exact: string | null;
}

export function toKnownAnswer(row: AnswerRow): KnownAnswer {
  // The answer was complete, but lacked this row.
  const whole = row.error_tag === leftOut.tag;
  return {
    requestId: row.request_id,
    fetchedAt: Number(row.fetched_ms),
    outcome: {
      key: row.unit_key,
      unit: row.url ?? '',
      status: row.status === 'success' || whole ? 'success' : 'error',
      errorTag: whole ? null : row.error_tag,
      httpStatus: row.http_status,
      source: row.source,
      costMicros: 0,
      result: resultOf(row),
    },
  };
}

function resultOf({ response, exact }: AnswerRow): Json | RawJson {
  if (exact !== null) return (JSON.parse(exact) as UnitRecord).result;
  // The text stays as it is, so that numbers which JavaScript cannot hold are not rounded.
  return response === null ? null : new RawJson(response);
}
