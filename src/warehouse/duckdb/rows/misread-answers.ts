import type { DuckDBConnection } from '@duckdb/node-api';
import type { MisreadAnswer } from '../../../core/rows/row-warehouse.js';
import { largest, plainPaths, unitRecords } from '../driver/read-files.js';
import { reason, textFact } from './load-slice.js';

/** Rows whose answer could not be parsed, wholly or in part. */
const misread = `e.job = $job AND e.unit_key IS NOT NULL
  AND (e.status = 'error' AND e.error_tag = 'RESPONSE_SHAPE' OR e.status = 'success' AND e.error_message IS NOT NULL)`;

/** See `RowWarehouse.misreadAnswers`. */
export async function misreadAnswers(connection: DuckDBConnection, job: string): Promise<readonly MisreadAnswer[]> {
  const reader = await connection.runAndReadAll(
    `SELECT unit_key, url, request_id, epoch_ms(fetched_at), status, response::VARCHAR FROM row_store e WHERE ${misread}
     QUALIFY row_number() OVER (PARTITION BY unit_key ORDER BY fetched_at DESC) = 1 ORDER BY row_number`,
    { job },
  );
  return reader.getRowsJson().map(([key, unit, requestId, at, status, response]) => ({
    key: String(key),
    unit: String(unit),
    requestId: requestId === null ? null : String(requestId),
    fetchedAt: Number(at),
    status: status === 'success' ? 'success' : 'error',
    response: response === null ? null : String(response),
  }));
}

/** See `RowWarehouse.putAnswers`. */
export async function putAnswers(connection: DuckDBConnection, job: string, unitFile: string): Promise<number> {
  const { listValue } = await import('@duckdb/node-api');
  const changed = await connection.runAndReadAll(
    `UPDATE row_store AS e SET status = u.status, error_tag = u.error_tag, error_message = u.error_message,
       http_status = u.http_status, source = u.source, title = u.title, author = u.author,
       published_date = u.published_date, response = u.result, loaded_at = make_timestamp_ms($now::BIGINT)
     FROM (SELECT key, status, error_tag, CASE WHEN status = 'error' THEN ${reason} ELSE misread END AS error_message,
         http_status, source, ${textFact('title', 1)} AS title, ${textFact('author', 2)} AS author,
         ${textFact('publishedDate', 3)} AS published_date, result
       FROM (SELECT *, json_extract_string(result, ['$.title', '$.author', '$.publishedDate']) AS facts
         FROM ${unitRecords(await largest([unitFile]))})) u
     WHERE ${misread} AND e.unit_key = u.key
     RETURNING 1`,
    { job, now: BigInt(Date.now()), units: listValue(plainPaths([unitFile])) },
  );
  return changed.currentRowCount;
}
