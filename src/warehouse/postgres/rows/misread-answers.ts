import type { MisreadAnswer } from '../../../core/rows/row-warehouse.js';
import type { PgTransaction } from '../../../postgres/index.js';
import { copyLines, makeLineTables } from '../driver/copy-lines.js';
import { reason, textFact } from './insert-rows.js';

/** Rows whose answer could not be parsed, wholly or in part. */
const misread = `e.job = $1 AND e.unit_key IS NOT NULL
  AND (e.status = 'error' AND e.error_tag = 'RESPONSE_SHAPE' OR e.status = 'success' AND e.error_message IS NOT NULL)`;

/** See `RowWarehouse.misreadAnswers`. */
export async function misreadAnswers(tx: Pick<PgTransaction, 'query'>, job: string): Promise<readonly MisreadAnswer[]> {
  const rows = await tx.query<MisreadAnswer & { readonly at: string }>(
    `SELECT DISTINCT ON (e.unit_key) e.unit_key AS key, e.url AS unit, e.request_id AS "requestId",
       extract(epoch FROM e.fetched_at) * 1000 AS at, e.status,
       coalesce(e.answer_exact -> 'result', e.response)::text AS response
     FROM row_store e WHERE ${misread} ORDER BY e.unit_key, e.fetched_at DESC`,
    [job],
  );
  return rows.map(({ at, ...row }) => ({ ...row, fetchedAt: Math.round(Number(at)) }));
}

/** See `RowWarehouse.putAnswers`. */
export async function putAnswers(tx: PgTransaction, job: string, unitFile: string): Promise<number> {
  await makeLineTables(tx);
  await copyLines(tx, 'unit_lines', unitFile);
  const rows = await tx.query(
    `UPDATE row_store AS e SET status = r.status, error_tag = r.error_tag,
       error_message = CASE WHEN r.status = 'error' THEN ${reason} ELSE r.misread END,
       http_status = r.http_status, source = r.source, title = ${textFact('title')}, author = ${textFact('author')},
       published_date = ${textFact('publishedDate')}, response = r.result, answer_exact = r.exact::json, loaded_at = now()
     FROM unit_lines l
     CROSS JOIN LATERAL json_to_record(l.line) AS r(key text, status text, error_tag text, http_status integer, source text,
       misread text, result json, exact text)
     CROSS JOIN LATERAL json_to_record(CASE WHEN json_typeof(r.result) = 'object' THEN r.result ELSE '{}' END)
       AS f(title text, author text, "publishedDate" text)
     WHERE ${misread} AND e.unit_key = r.key
     RETURNING e.id`,
    [job],
  );
  return rows.length;
}
