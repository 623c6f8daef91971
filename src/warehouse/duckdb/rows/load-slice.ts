import type { DuckDBConnection } from '@duckdb/node-api';
import type { Freshness } from '../../../core/purchase/freshness.js';
import { leftOut } from '../../../core/rows/row-operation.js';
import type { LoadBatch } from '../../../core/rows/row-warehouse.js';
import { literal } from '../../shared/duckdb-quote.js';
import { rowPart } from '../../shared/duckdb-result-sql.js';
import { checkGeneration } from '../../shared/ledger.js';
import { withMendedFiles } from '../driver/mended-files.js';
import { largest, MAX_OBJECT, plainPaths, unitRecords } from '../driver/read-files.js';
import { makePending } from './pending.js';

export interface Loaded {
  readonly rows: number;
  /** Another attempt has already loaded the slice. */
  readonly already: boolean;
}

/** Row numbers, inclusive. */
export interface RowRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Loads one slice, or a part of a slice, in the caller's transaction: rows and ledger line, or neither. For a part, the unit files may have
 * lines of any length.
 */
export async function loadSlice(
  connection: DuckDBConnection,
  batch: LoadBatch,
  freshness: Freshness | undefined,
  part: RowRange | null = null,
): Promise<Loaded> {
  const { job, generation, slice } = batch;
  const line = await connection.runAndReadAll(
    'SELECT rows FROM load_ledger WHERE job = $job AND generation = $generation AND slice = $slice',
    { job, generation, slice },
  );
  if (line.currentRowCount > 0) return { rows: Number(line.getRowsJson()[0]?.[0]), already: true };
  const origin = await currentOrigin(connection, batch);
  const { occupied } = await makePending(connection, { job, rowsFile: batch.rowsFile, cells: true, part }, freshness);
  if (occupied) {
    await connection.run('DELETE FROM row_store WHERE job = $job AND row_number IN (SELECT n FROM pending)', { job });
  }
  const row = { job, origin, generation, slice, now: BigInt(Date.now()) };
  const invalid = await count(connection, 'SELECT count(*) FROM pending WHERE k IS NULL');
  if (invalid > 0) await connection.run(insertInvalid, row);
  await loadUnits(connection, batch, row, part === null ? MAX_OBJECT : Number.POSITIVE_INFINITY);
  if (part === null) return ledgerLine(connection, batch);
  const loaded = await connection.runAndReadAll(
    `INSERT INTO load_parts SELECT $job, $generation, $slice, $from::BIGINT, $to::BIGINT, count(*), $attempt,
       make_timestamp_ms($now::BIGINT) FROM pending RETURNING rows`,
    {
      ...{ job, generation, slice, attempt: batch.attempt, now: row.now },
      ...{ from: BigInt(part.from), to: BigInt(part.to) },
    },
  );
  return { rows: Number(loaded.getRowsJson()[0]?.[0]), already: false };
}

/** Writes the ledger line of a slice whose parts are all loaded. */
export async function finishSlice(
  connection: DuckDBConnection,
  batch: LoadBatch,
  freshness: Freshness | undefined,
): Promise<Loaded> {
  const { job, generation, slice, rowsFile } = batch;
  const line = await connection.runAndReadAll(
    'SELECT rows FROM load_ledger WHERE job = $job AND generation = $generation AND slice = $slice',
    { job, generation, slice },
  );
  if (line.currentRowCount > 0) return { rows: Number(line.getRowsJson()[0]?.[0]), already: true };
  await currentOrigin(connection, batch);
  await makePending(connection, { job, rowsFile, cells: false }, freshness);
  if ((await count(connection, 'SELECT count(*) FROM pending')) > 0) throw unitsMissing(batch);
  await connection.run('DELETE FROM load_parts WHERE job = $job AND slice = $slice', { job, slice });
  return ledgerLine(connection, batch);
}

async function ledgerLine(
  connection: DuckDBConnection,
  { job, generation, slice, attempt, partial = false }: LoadBatch,
): Promise<Loaded> {
  if (partial) return { rows: await count(connection, 'SELECT count(*) FROM staged'), already: false };
  const loaded = await connection.runAndReadAll(
    `INSERT INTO load_ledger SELECT $job, $generation, $slice, count(*), $attempt, make_timestamp_ms($now::BIGINT) FROM staged
     RETURNING rows`,
    { job, generation, slice, attempt, now: BigInt(Date.now()) },
  );
  return { rows: Number(loaded.getRowsJson()[0]?.[0]), already: false };
}

/** Returns the origin of a job. Refuses an attempt of another generation, because its row numbers now belong to other rows. */
async function currentOrigin(connection: DuckDBConnection, { job, generation }: LoadBatch): Promise<string> {
  const jobs = await connection.runAndReadAll('SELECT generation, origin FROM searchflow_jobs WHERE job = $job', {
    job,
  });
  const [current, origin] = jobs.getRowsJson()[0] ?? [];
  checkGeneration(job, generation, current);
  return String(origin);
}

type RowFacts = { job: string; origin: string; generation: string; slice: number; now: bigint };

/**
 * Inserts the pending rows that have a unit. A first statement reads the unit files once, directly into the table. If this statement does
 * not find exactly one line for each row, a slower statement reads the files again. In this case a unit has two lines, or a line that
 * DuckDB cannot read.
 */
async function loadUnits(
  connection: DuckDBConnection,
  batch: LoadBatch,
  row: RowFacts,
  mostBytes: number,
): Promise<void> {
  const wanted = await count(connection, 'SELECT count(k) FROM pending');
  if (wanted === 0) return;
  const whole = async () => {
    const inserted = await count(
      connection,
      `SELECT CASE WHEN count(*) = count(DISTINCT row_number) THEN count(*) END FROM row_store
       WHERE job = $job AND unit_key IS NOT NULL AND row_number BETWEEN (SELECT min(n) FROM pending) AND (SELECT max(n) FROM pending)
         AND row_number IN (SELECT n FROM pending)`,
      { job: row.job },
    );
    return inserted === wanted;
  };
  if (batch.unitFiles.length > 0) {
    const longest = Math.min(mostBytes, await largest(batch.unitFiles));
    await insertUnits(connection, batch, batch.unitFiles, row, unitRecords(longest));
  }
  if (await whole()) return;
  await removeUnits(connection, row.job);
  await withMendedFiles(batch.unitFiles, async (files) => {
    const longest = Math.min(mostBytes, await largest(files));
    if (files.length > 0) await insertUnits(connection, batch, files, row, newest(unitRecords(longest)));
  });
  if (await whole()) return;
  throw unitsMissing(batch);
}

export function unitsMissing({ job, slice, unitFiles }: LoadBatch): Error {
  return new Error(
    `Units of slice ${slice} of ${job} are missing from its unit files (${unitFiles.length}); nothing was loaded`,
  );
}

const newest = (records: string): string =>
  `(SELECT * FROM ${records} u QUALIFY row_number() OVER (PARTITION BY key ORDER BY fetched_at DESC NULLS LAST) = 1)`;

/** Message of a failed answer: `error.message`, or `error` if `error` is a text. */
export const reason = `coalesce(json_extract_string(result, '$.error.message'),
  CASE json_type(result, '$.error') WHEN 'VARCHAR' THEN json_extract_string(result, '$.error') END)`;

/** A field that was read from the result as a text. If the row is misread, a value that is not a text becomes NULL. */
export const textFact = (name: string, nth: number) =>
  `CASE WHEN misread IS NULL OR json_type(result, '$.${name}') = 'VARCHAR' THEN facts[${nth}] END`;

async function insertUnits(
  connection: DuckDBConnection,
  { sharedAnswers = false }: LoadBatch,
  files: readonly string[],
  row: RowFacts,
  source: string,
): Promise<void> {
  const { listValue } = await import('@duckdb/node-api');
  await connection.run(
    `INSERT INTO row_store (job, origin, generation, slice, row_number, row_hash, unit_key, url, input, status, error_tag,
       error_message, http_status, source, title, author, published_date, response, request_id, cost_micros, fetched_at, loaded_at)
     SELECT $job, $origin, $generation, $slice, n, h, key, u, i,
       CASE WHEN left_out THEN 'error' ELSE status END,
       CASE WHEN left_out THEN ${literal(leftOut.tag)} ELSE error_tag END,
       CASE WHEN left_out THEN ${literal(leftOut.reason)} WHEN status = 'error' THEN ${reason} ELSE misread END,
       http_status, source, ${['title', 'author', 'publishedDate'].map((name, nth) => textFact(name, nth + 1)).join(', ')}, result, request_id,
       -- Only the first row of a purchase has its cost.
       CASE WHEN d THEN 0 ELSE cost_micros END, fetched_at, make_timestamp_ms($now::BIGINT)
     FROM (
       SELECT r.*, p.n, p.h, p.u, p.i, p.d,
         ${sharedAnswers ? `r.status = 'success' AND ${rowPart('r.result', 'p.h')} IS NULL` : 'false'} AS left_out,
         json_extract_string(r.result, ['$.title', '$.author', '$.publishedDate']) AS facts
       FROM ${source} r JOIN pending p ON p.k = r.key)`,
    { ...row, units: listValue(plainPaths(files)) },
  );
}

async function removeUnits(connection: DuckDBConnection, job: string): Promise<void> {
  await connection.run(
    'DELETE FROM row_store WHERE job = $job AND unit_key IS NOT NULL AND row_number IN (SELECT n FROM pending)',
    { job },
  );
}

const insertInvalid = `
INSERT INTO row_store (job, origin, generation, slice, row_number, row_hash, url, input, status, error_tag, error_message,
  cost_micros, loaded_at)
SELECT $job, $origin, $generation, $slice, n, h, u, i, 'invalid', e, m, 0, make_timestamp_ms($now::BIGINT)
FROM pending WHERE k IS NULL`;

async function count(connection: DuckDBConnection, sql: string, values: Record<string, string> = {}): Promise<number> {
  return Number((await connection.runAndReadAll(sql, values)).getRowsJson()[0]?.[0]);
}
