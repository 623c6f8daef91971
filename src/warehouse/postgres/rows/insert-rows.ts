import { leftOut } from '../../../core/rows/row-operation.js';
import type { LoadBatch } from '../../../core/rows/row-warehouse.js';
import type { PgTransaction } from '../../../postgres/index.js';
import { partsOf } from '../dialect/result-sql.js';
import { occupied, stagedRows } from './pending.js';

/** Where a statement reads rows and answers. */
interface Source {
  /** Beginning of the WITH clause. */
  readonly first: string;
  /** Rows to insert. */
  readonly rows: 'staged' | 'pending';
  /** Relation with the lines of the unit files. */
  readonly units: string;
  /** Condition for the insert. */
  readonly when: string;
}

/**
 * Inserts the staged rows, with the lines as they are. Nearly every load can use this source: only a slice without existing rows is needed.
 */
const plain: Source = {
  first: `staged AS MATERIALIZED (${stagedRows}),`,
  rows: 'staged',
  units: 'unit_lines',
  when: `NOT ${occupied}`,
};

/** Inserts the rows of the temporary table `pending`. If a unit has several lines, the newest line is used. */
const chosen: Source = {
  first: '',
  rows: 'pending',
  units: `(SELECT DISTINCT ON (k.key) l.line FROM unit_lines l
    CROSS JOIN LATERAL json_to_record(l.line) AS k(key text, fetched_at timestamptz)
    ORDER BY k.key, k.fetched_at DESC NULLS LAST)`,
  when: 'true',
};

/** Message of a failed answer: `error.message`, or `error` if `error` is a text. */
export const reason = `coalesce(r.result #>> '{error,message}',
  CASE WHEN json_typeof(r.result -> 'error') = 'string' THEN r.result ->> 'error' END)`;

/** A field that was read from the result as a text. If the row is misread, a value that is not a text becomes NULL. */
export const textFact = (name: string) =>
  `CASE WHEN r.misread IS NULL OR json_typeof(r.result -> '${name}') = 'string' THEN f."${name}" END`;

const statement = ({ first, rows, units, when }: Source, leaves: string) => `
WITH ${first} added AS (
  INSERT INTO row_store (job, origin, generation, slice, row_number, row_hash, unit_key, url, input, status, error_tag,
    error_message, http_status, source, title, author, published_date, response, request_id, cost_micros, fetched_at, loaded_at,
    row_exact, answer_exact)
  SELECT $1, $2, $3, $4, p.n, p.h, r.key, p.u, p.i,
    CASE WHEN o.left_out THEN 'error' ELSE r.status END,
    CASE WHEN o.left_out THEN '${leftOut.tag}' ELSE r.error_tag END,
    CASE WHEN o.left_out THEN '${leftOut.reason}' WHEN r.status = 'error' THEN ${reason} ELSE r.misread END,
    r.http_status, r.source, ${['title', 'author', 'publishedDate'].map(textFact).join(', ')}, r.result, r.request_id,
    -- Only the first row of a purchase has its cost.
    CASE WHEN p.d THEN 0 ELSE r.cost_micros END, r.fetched_at, now(), p.exact::json, r.exact::json
  FROM ${units} l
  CROSS JOIN LATERAL json_to_record(l.line) AS r(key text, request_id text, fetched_at timestamptz, cost_micros bigint,
    status text, error_tag text, http_status integer, source text, misread text, result json, exact text)
  JOIN ${rows} p ON p.k = r.key
  CROSS JOIN LATERAL json_to_record(CASE WHEN json_typeof(r.result) = 'object' THEN r.result ELSE '{}' END)
    AS f(title text, author text, "publishedDate" text)
  CROSS JOIN LATERAL (SELECT ${leaves} AS left_out) AS o
  WHERE ${when}
  RETURNING row_number
), invalid AS (
  INSERT INTO row_store (job, origin, generation, slice, row_number, row_hash, url, input, status, error_tag, error_message,
    cost_micros, loaded_at, row_exact)
  SELECT $1, $2, $3, $4, n, h, u, i, 'invalid', e, m, 0, now(), exact::json FROM ${rows} WHERE k IS NULL AND ${when}
), ledger AS (
  INSERT INTO load_ledger SELECT $1, $3, $4, count(*), $5, now() FROM staged HAVING NOT $6::boolean RETURNING rows
)
SELECT coalesce((SELECT rows FROM ledger), (SELECT count(*) FROM staged)) AS rows, (SELECT count(k) FROM ${rows}) AS units, count(*) AS added,
  count(DISTINCT row_number) AS numbers, ${when} AS done
FROM added`;

const isLeftOut = `r.status = 'success' AND NOT EXISTS (${partsOf('r.result', 'p.h')})`;
const statements = {
  plain: { own: statement(plain, 'false'), shared: statement(plain, isLeftOut) },
  chosen: { own: statement(chosen, 'false'), shared: statement(chosen, isLeftOut) },
};

/**
 * Inserts the rows and the ledger line of a slice in one statement. Returns the number of rows. Returns null if a unit has no answer or
 * several answers, or if rows exist already. After null the caller must roll back.
 */
export async function insertRows(
  tx: PgTransaction,
  { job, generation, slice, attempt, sharedAnswers, partial = false }: LoadBatch,
  origin: string,
  from: keyof typeof statements,
): Promise<number | null> {
  const [inserted] = await tx.query<{ rows: string; units: string; added: string; numbers: string; done: boolean }>(
    statements[from][sharedAnswers ? 'shared' : 'own'],
    [job, origin, generation, slice, attempt, partial],
  );
  if (!inserted?.done || inserted.added !== inserted.units || inserted.numbers !== inserted.units) return null;
  return Number(inserted.rows);
}
