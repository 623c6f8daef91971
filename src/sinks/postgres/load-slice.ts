import type { Freshness } from '../../core/journal.js';
import { type LoadBatch, SinkUnusable } from '../../core/sink.js';
import type { PgTransaction } from '../../postgres/index.js';
import { copyLines } from './copy-lines.js';
import { lockJob, lockSlice } from './locks.js';
import { makePending } from './pending.js';

/** Loads one slice inside of the caller's transaction: rows and ledger line, or neither. */
export async function loadSlice(
  tx: PgTransaction,
  batch: LoadBatch,
  freshness: Freshness | undefined,
): Promise<{ readonly rows: number; readonly already: boolean }> {
  const { job, generation, slice } = batch;
  await lockJob(tx, job, 'shared');
  await lockSlice(tx, job, slice);
  const lines = await tx.query<{ rows: string }>(
    'SELECT rows FROM load_ledger WHERE job = $1 AND generation = $2 AND slice = $3',
    [job, generation, slice],
  );
  if (lines[0]) return { rows: Number(lines[0].rows), already: true };
  const origin = await currentOrigin(tx, batch);
  const { table, occupied } = await makePending(tx, batch, freshness);
  if (occupied) {
    await tx.query(`DELETE FROM row_store WHERE job = $1 AND row_number IN (SELECT n FROM ${table})`, [job]);
  }
  const row = [job, origin, generation, slice];
  const [counts] = await tx.query<{ rows: string; units: string }>(
    `SELECT count(*) AS rows, count(k) AS units FROM ${table}`,
  );
  const units = Number(counts?.units);
  if (units < Number(counts?.rows)) await tx.query(insertInvalid(table), row);
  if (units > 0) await loadUnits(tx, batch, { table, row, units });
  const loaded = await tx.query<{ rows: string }>(
    `INSERT INTO load_ledger SELECT $1, $2, $3, count(*), $4, now() FROM staged RETURNING rows`,
    [job, generation, slice, batch.attempt],
  );
  return { rows: Number(loaded[0]?.rows), already: false };
}

/** Fences an attempt of another generation: its rows would land at places that now belong to other rows. */
async function currentOrigin(tx: PgTransaction, { job, generation }: LoadBatch): Promise<string> {
  const [current] = await tx.query<{ generation: string; origin: string }>(
    'SELECT generation, origin FROM searchflow_jobs WHERE job = $1',
    [job],
  );
  if (current === undefined) {
    throw new SinkUnusable(
      `The warehouse of ${job} was deleted or replaced while the job ran; the same command loads it again from the journal`,
    );
  }
  if (current.generation === generation) return current.origin;
  throw new SinkUnusable(
    `The job ${job} has meanwhile been started with other content or options; this run of it can't load any more`,
  );
}

interface Wanted {
  readonly table: string;
  readonly row: readonly unknown[];
  readonly units: number;
}

/**
 * Inserts the pending rows that have a unit. The lines are taken as they are; only when that did not give exactly one answer a
 * row (a unit stands in two lines, or a line is no JSON) they are read with more care.
 */
async function loadUnits(tx: PgTransaction, batch: LoadBatch, wanted: Wanted): Promise<void> {
  await tx.query('SAVEPOINT units');
  if (await insertUnits(tx, batch, wanted, false).catch(passingDataErrors)) return;
  await tx.query('ROLLBACK TO SAVEPOINT units');
  if (await insertUnits(tx, batch, wanted, true)) return;
  throw new Error(
    `Units of slice ${batch.slice} of ${batch.job} are in none of its unit files (${batch.unitFiles.length}); nothing was loaded`,
  );
}

/** What is wrong with a line (SQLSTATE class 22) may be of no account. */
function passingDataErrors(error: unknown): false {
  if (/^22/.test(String((error as { code?: unknown }).code))) return false;
  throw error;
}

/** Answers whether every pending unit was inserted, once. */
async function insertUnits(
  tx: PgTransaction,
  { unitFiles }: LoadBatch,
  { table, row, units }: Wanted,
  careful: boolean,
): Promise<boolean> {
  await tx.query('CREATE TEMP TABLE unit_lines (line json) ON COMMIT DROP');
  for (const file of unitFiles) await copyLines(tx, 'unit_lines', file, careful);
  const [added] = await tx.query<{ rows: string; places: string }>(
    `WITH added AS (
       INSERT INTO row_store (job, origin, generation, slice, row_number, row_hash, unit_key, url, input, status, error_tag,
         http_status, source, title, author, published_date, response, request_id, cost_micros, fetched_at, loaded_at,
         row_exact, answer_exact)
       SELECT $1, $2, $3, $4, p.n, p.h, r.key, p.u, p.i, r.status, r.error_tag,
         r.http_status, r.source, f.title, f.author, f."publishedDate", r.result, r.request_id,
         -- What was bought once is counted once, on the first of its rows.
         CASE WHEN p.d THEN 0 ELSE r.cost_micros END, r.fetched_at, now(),
         p.exact::json, r.exact::json
       FROM ${careful ? newest : 'unit_lines'} l
       CROSS JOIN LATERAL json_to_record(l.line) AS r(key text, request_id text, fetched_at timestamptz, cost_micros bigint,
         status text, error_tag text, http_status integer, source text, result json, exact text)
       JOIN ${table} p ON p.k = r.key
       CROSS JOIN LATERAL json_to_record(CASE WHEN json_typeof(r.result) = 'object' THEN r.result ELSE '{}' END)
         AS f(title text, author text, "publishedDate" text)
       RETURNING row_number)
     SELECT count(*) AS rows, count(DISTINCT row_number) AS places FROM added`,
    row,
  );
  return Number(added?.rows) === units && Number(added?.places) === units;
}

const newest = `(
  SELECT DISTINCT ON (k.key) l.line FROM unit_lines l
  CROSS JOIN LATERAL json_to_record(l.line) AS k(key text, fetched_at timestamptz)
  ORDER BY k.key, k.fetched_at DESC NULLS LAST)`;

const insertInvalid = (table: string) => `
INSERT INTO row_store (job, origin, generation, slice, row_number, row_hash, url, input, status, error_tag, error_message,
  cost_micros, loaded_at, row_exact)
SELECT $1, $2, $3, $4, n, h, u, i, 'invalid', e, m, 0, now(), exact::json FROM ${table} WHERE k IS NULL`;
