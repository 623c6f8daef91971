import { failureTags, leftOut } from '../../core/purchase/failure-tags.js';
import type { RetryFreshness } from '../../core/purchase/freshness.js';
import { ENDED_WITH_JOB, type UnitOutcome, type UnitRecord } from '../../core/purchase/journal.js';
import type { KnownAnswer, MisreadAnswer } from '../../core/rows/row-warehouse.js';
import { type Json, RawJson } from '../../core/text/json.js';
import type { Dialect, Transaction } from '../dialect.js';
import { stale, textsOf, useFreshness } from './row-sql.js';
import { facts } from './row-tables.js';

export const factFields = facts.map(({ field }) => field);

/**
 * Columns of the answer in a unit record (alias `r`) with its facts, see `Dialect.withFacts`. If the answer is misread, a fact that is
 * not a text is NULL.
 */
export function answerOf({ sameText: text, isText, keepsExact }: Dialect, r: string) {
  const result = `${r}.result`;
  const fact = (name: string) =>
    `CASE WHEN ${r}.misread IS NULL OR ${isText(result, [name])} THEN ${r}."fact_${name}" END`;
  // A failed answer has a message as `error.message`, or `error` is a text.
  const own = `coalesce(${text(result, ['error', 'message'])}, CASE WHEN ${isText(result, ['error'])} THEN ${text(result, ['error'])} END)`;
  const reason = `coalesce(CASE WHEN trim(${own}, E' \\t\\r\\n') <> '' THEN ${own} END, CASE ${reasons(`${r}.error_tag`)}
    ELSE 'the service reported ' || coalesce(${r}.error_tag, 'an error') || coalesce(' (HTTP ' || CAST(${r}.http_status AS text) || ')', '') END)`;
  return {
    error_tag: `${r}.error_tag`,
    error_message: `CASE WHEN ${r}.status = 'error' THEN ${reason} ELSE ${r}.misread END`,
    http_status: `${r}.http_status`,
    source: `${r}.source`,
    ...Object.fromEntries(facts.map(({ name, field }) => [name, fact(field)])),
    response: result,
    answer_exact: keepsExact ? `CAST(${r}.exact AS json)` : null,
  };
}

/** The messages of failures without a message of the service, as branches of a CASE. */
const reasons = (tag: string): string =>
  Object.entries(failureTags)
    .map(([name, rule]) => ('message' in rule ? `WHEN ${tag} = '${name}' THEN '${rule.message}'` : ''))
    .join(' ');

/** Rows whose answer could not be parsed, wholly or in part. */
const misread = `e.job = $1 AND e.unit_key IS NOT NULL
  AND (e.status = 'error' AND e.error_tag = 'RESPONSE_SHAPE' OR e.status = 'success' AND e.error_message IS NOT NULL)`;

export async function misreadAnswers({ dialect, rows }: Transaction, job: string): Promise<readonly MisreadAnswer[]> {
  const response = dialect.keepsExact ? `coalesce(answer_exact -> 'result', response)` : 'response';
  const found = await rows<MisreadAnswer>(
    `SELECT unit_key AS key, url AS unit, request_id AS "requestId", ${dialect.millis('fetched_at')} AS "fetchedAt", status,
       CAST(${response} AS text) AS response
     FROM (SELECT *, row_number() OVER (PARTITION BY unit_key ORDER BY fetched_at DESC) AS turn FROM row_store e WHERE ${misread}) a
     WHERE turn = 1 ORDER BY row_number`,
    [job],
  );
  return found.map((answer) => ({ ...answer, fetchedAt: Math.round(answer.fetchedAt) }));
}

export async function putAnswers(tx: Transaction, job: string, unitFile: string): Promise<number> {
  const { dialect } = tx;
  const columns = Object.entries({ status: 'r.status', ...answerOf(dialect, 'r') }).filter(
    ([, value]) => value !== null,
  );
  let changed = 0;
  await tx.readUnits([unitFile], true, async (units) => {
    const rows = await tx.rows(
      `UPDATE row_store AS e SET ${columns.map(([name]) => `${name} = u.${name}`).join(', ')}, loaded_at = ${dialect.now()}
       FROM (SELECT r.key, ${columns.map(([name, value]) => `${value} AS ${name}`).join(', ')}
         FROM (${dialect.withFacts(units, factFields)}) r) u
       WHERE ${misread} AND e.unit_key = u.key
       RETURNING 1 AS changed`,
      [job],
    );
    changed += rows.length;
  });
  return changed;
}

/** Rows that hold an answer to one of the keys in the first parameter. */
const holding = `FROM row_store e WHERE e.unit_key IN (${textsOf('$1')})
  AND e.fetched_at IS NOT NULL AND e.error_tag IS DISTINCT FROM '${ENDED_WITH_JOB}' AND NOT ${stale}`;

/** See `RowReads.known`. If rows share an answer, only the first of these rows has the cost of the answer. */
export async function knownCosts(
  tx: Transaction,
  keys: readonly string[],
  freshness: RetryFreshness | undefined,
): Promise<Map<string, number>> {
  await useFreshness(tx, freshness);
  const rows = await tx.rows<{ unit_key: string; micros: unknown }>(
    `SELECT e.unit_key, max(e.cost_micros) AS micros ${holding} GROUP BY e.unit_key`,
    [keys],
  );
  return new Map(rows.map(({ unit_key, micros }) => [unit_key, Number(micros)]));
}

export async function knownAnswers(
  tx: Transaction,
  keys: readonly string[],
  freshness: RetryFreshness | undefined,
): Promise<readonly KnownAnswer[]> {
  await useFreshness(tx, freshness);
  const { keepsExact, millis } = tx.dialect;
  const rows = await tx.rows<AnswerRow>(
    `SELECT DISTINCT ON (e.unit_key) e.unit_key AS key, e.url AS unit, e.request_id AS "requestId", ${millis('e.fetched_at')} AS "fetchedAt", e.status,
       e.error_tag AS "errorTag", e.http_status AS "httpStatus", e.source, CAST(e.response AS text) AS response,
       CAST(${keepsExact ? 'e.answer_exact' : 'NULL'} AS text) AS exact
     ${holding} ORDER BY e.unit_key, e.fetched_at DESC, e.error_tag NULLS FIRST`,
    [keys],
  );
  return rows.map(({ requestId, fetchedAt, response, exact, ...row }) => {
    // The answer was complete, but lacked this row.
    const whole = row.errorTag === leftOut.tag ? ({ status: 'success', errorTag: null } as const) : {};
    const result = resultOf(response, exact);
    return { requestId, fetchedAt, outcome: { ...row, unit: row.unit ?? '', costMicros: 0, ...whole, result } };
  });
}

/** `exact`: the original record of the unit, if the database cannot hold it unchanged. */
interface AnswerRow
  extends Pick<KnownAnswer, 'requestId' | 'fetchedAt'>,
    Pick<UnitOutcome, 'key' | 'status' | 'errorTag' | 'httpStatus' | 'source'> {
  readonly unit: string | null;
  readonly response: string | null;
  readonly exact: string | null;
}

function resultOf(response: string | null, exact: string | null): Json | RawJson {
  if (exact !== null) return (JSON.parse(exact) as UnitRecord).result;
  // The text stays as it is, so that numbers which JavaScript cannot hold are not rounded.
  return response === null ? null : new RawJson(response);
}
