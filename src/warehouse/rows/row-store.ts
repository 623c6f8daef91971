import { failureTags, leftOut } from '../../core/purchase/failure-tags.js';
import { FORGOTTEN, keptReasons, REMOVED_REASON } from '../../core/purchase/forgotten.js';
import type { RetryFreshness } from '../../core/purchase/freshness.js';
import type { UnknownOutcome } from '../../core/purchase/journal.js';
import type { PublishOutcome, SchemaChange, WarehouseSummary } from '../../core/row-job-schemas.js';
import type { ColumnType } from '../../core/rows/column-type.js';
import type { ForgetSubjects, RowLoads, RowMarks, RowProgress, RunRecord } from '../../core/rows/row-warehouse.js';
import { schemaChanges } from '../../core/rows/schema-changes.js';
import { JobNotLoaded } from '../../core/rows/warehouse-errors.js';
import type { Database, Purpose, WarehousesOptions } from '../database.js';
import type { Transaction } from '../dialect.js';
import { identifier, typedName } from '../shared/duckdb-quote.js';
import { refuseWaiting } from '../sink-batches.js';
import { knownAnswers, putAnswers } from './answers.js';
import { type InputColumns, resultColumnsOf, type StoredTexts, schemaOf, shapeOf, storedTexts } from './job-columns.js';
import { viewedRows } from './job-view.js';
import { loading, loadSlice, pendingKeys } from './load-slice.js';
import { countMisfits, listMisfits } from './misfits.js';
import { checkGeneration, openJob, slicesLackingRows, unloadedSlices } from './open-job.js';
import type { ResultColumn } from './result-column.js';
import { loadRetry, openRetry, retryUnits } from './retry.js';
import { discardedRow, markRows, unmarkRows } from './row-marks.js';
import { currentRow, insertInto, recordsOf, stale, useFreshness } from './row-sql.js';
import { answerColumns, exactColumns, outcomes, runs } from './row-tables.js';

/** Transactions of a database: with a job, which `existing` rejects without a warehouse, or with another result than without one. */
export function transactionsOf({ shown, exists, transaction }: Database) {
  return {
    async existing<T>(job: string, purpose: Purpose, work: (tx: Transaction) => Promise<T>): Promise<T> {
      if (!(await exists())) throw unknownJob(job, shown);
      return transaction(purpose, work);
    },
    ifPresent: async <T>(none: T, purpose: Purpose, work: (tx: Transaction) => Promise<T>): Promise<T> =>
      (await exists()) ? transaction(purpose, work) : none,
  };
}

/** Returns the store of rows in a database. All databases get the same statements, see `Dialect`. */
export function createRowStore(
  database: Database,
  say: WarehousesOptions['say'] = () => undefined,
): RowProgress & RowLoads & RowMarks {
  const { shown, transaction } = database;
  const { existing, ifPresent } = transactionsOf(database);
  const has = (condition: string, values: readonly string[]) =>
    ifPresent(false, 'read', async (tx) => {
      const found = await tx.rows(`SELECT 1 AS found FROM row_store WHERE ${condition} LIMIT 1`, values);
      return found.length > 0;
    });
  return {
    async make() {
      await database.make();
      await transaction('write', async () => undefined);
    },

    async openJob(job, rowsFiles, freshness) {
      await database.make();
      return transaction('write', (tx) => openJob(tx, job, rowsFiles, freshness, say));
    },

    async unloadedSlices(job, freshness) {
      if (!(await database.exists())) checkGeneration(job.job, job.generation, undefined);
      return transaction('write', (tx) => unloadedSlices(tx, job, freshness));
    },

    holdsRows: (job) => has('job = $1', [job]),
    holdsAnswers: () => has('unit_key IS NOT NULL', []),

    answers: async (keys, freshness) =>
      keys.length === 0 ? [] : ifPresent([], 'write', (tx) => knownAnswers(tx, keys, freshness)),

    loadedSlices: (job, generation) =>
      ifPresent<readonly number[] | null>(null, 'read', async (tx) => {
        const known = await tx.rows('SELECT 1 AS found FROM searchflow_jobs WHERE job = $1', [job]);
        if (known.length === 0) return null;
        const lines = await tx.rows<{ slice: number }>(
          `SELECT slice FROM load_ledger WHERE job = $1 AND generation = $2
             AND slice NOT IN (${slicesLackingRows}) ORDER BY slice`,
          [job, generation],
        );
        return lines.map(({ slice }) => slice);
      }),
    loadedRows: (job, generation, freshness) =>
      existing(job, 'write', (tx) => loadedRows(tx, job, generation, freshness)),

    pendingKeys: (job, rowsFile, freshness) => transaction('write', (tx) => pendingKeys(tx, job, rowsFile, freshness)),
    load: (batch, freshness) =>
      loading(database, batch.unitFiles, (tx, careful) => loadSlice(tx, batch, freshness, careful)),

    openRetry: (job, rule, by) => existing(job, 'write', (tx) => openRetry(tx, job, rule, by)),
    retryUnits: (job, slices) => existing(job, 'read', (tx) => retryUnits(tx, job, slices)),
    async loadRetry(batch) {
      if (!(await database.exists())) throw unknownJob(batch.job, shown);
      return loading(database, batch.unitFiles, (tx, careful) => loadRetry(tx, batch, careful));
    },
    markRows: (job, mark, pick) => existing(job, 'write', (tx) => markRows(tx, job, mark, pick)),
    unmarkRows: (job, pick) => existing(job, 'write', (tx) => unmarkRows(tx, job, pick)),
    forget: (subjects, dryRun) => ifPresent(0, dryRun ? 'read' : 'write', (tx) => forgetRows(tx, subjects, dryRun)),
    purgeForgotten: async () => ((await database.exists()) ? database.purge() : null),
    putAnswers: (job, unitFile) =>
      existing(job, 'write', async (tx) => {
        const changed = await putAnswers(tx, job, unitFile);
        if (changed > 0) await listMisfits(tx, { job, ...(await readJob(tx, job, shown)) });
        return changed;
      }),

    async recordUnknown(job, unknown) {
      if (unknown.length > 0) await transaction('write', (tx) => recordUnknown(tx, job, unknown));
    },
    recordRun: (run) => transaction('write', (tx) => recordRun(tx, run)),
    recordPublish: (job, run, outcome) =>
      existing(job, 'write', (tx) =>
        tx.run('UPDATE searchflow_runs SET published = CAST($3 AS json) WHERE job = $1 AND run = $2', [
          ...[job, run, tx.dialect.json(JSON.stringify(outcome))],
        ]),
      ),
    failedSince: (job, time) =>
      ifPresent(0, 'read', async (tx) => {
        const failed = `status = 'error' AND error_tag <> '${leftOut.tag}' AND fetched_at >= ${tx.dialect.moment('$2')}`;
        const counted = `SELECT count(DISTINCT unit_key) AS units FROM row_store WHERE job = $1 AND ${failed}`;
        const [found] = await tx.rows<{ units: unknown }>(counted, [job, time]);
        return Number(found?.units);
      }),
    summary: (job) => existing(job, 'read', (tx) => summarize(tx, job, shown)),
  };
}

/** `where`: the name of the warehouse, for messages. */
export function unknownJob(job: string, where: string): JobNotLoaded {
  return new JobNotLoaded('job-not-loaded', `There is no job ${job} in ${where}: run it first, or name its warehouse`);
}

/**
 * A job for its exports: its input, its view with the columns and the condition on its rows (`where`), its highest row number, and its latest recorded run.
 */
export async function readJob({ rows }: Transaction, job: string, shown: string) {
  const [record] = await rows<
    {
      readonly input: string;
      readonly view: string;
      readonly columns: readonly string[];
      readonly types: readonly ColumnType[] | null;
      readonly last: unknown;
      readonly run: string | null;
    } & StoredTexts
  >(
    `SELECT input, view_name AS view, columns, types, ${storedTexts},
       (SELECT coalesce(max(row_number), 0) FROM row_store WHERE job = $1) AS last,
       (SELECT run FROM searchflow_runs WHERE job = $1 ORDER BY ended_at DESC LIMIT 1) AS run
     FROM searchflow_jobs WHERE job = $1`,
    [job],
  );
  if (record === undefined) throw unknownJob(job, shown);
  const { input, view, columns, types, last, run } = record;
  const results: readonly ResultColumn[] = resultColumnsOf(record);
  const where = viewedRows(job);
  const extra = await rows(
    `SELECT 1 AS found FROM row_store WHERE ${where} AND error_tag = 'CSV_RAGGED' AND array_length(input, 1) > $1 LIMIT 1`,
    [columns.length],
  );
  const facts = { input, view, columns, types, results, last: Number(last), run };
  return { ...facts, where, hasExtraCells: extra.length > 0 };
}

/** Counts the loaded rows by slice. `ledger`: whether the slice has a line in the ledger. */
async function loadedRows(tx: Transaction, job: string, generation: string, freshness: RetryFreshness | undefined) {
  await useFreshness(tx, freshness);
  const slices = await tx.rows<{ slice: number; rows: unknown; failed: unknown; ledger: boolean }>(
    `SELECT e.slice, count(*) AS rows, count(*) FILTER (WHERE e.status = 'error') AS failed, l.slice IS NOT NULL AS ledger
     FROM row_store e LEFT JOIN load_ledger l ON l.job = e.job AND l.slice = e.slice AND l.generation = $2
     WHERE ${currentRow} AND NOT ${stale}
     GROUP BY e.slice, l.slice ORDER BY e.slice`,
    [job, generation],
  );
  return {
    failed: slices.reduce((sum, { failed }) => sum + Number(failed), 0),
    partial: slices.filter(({ ledger }) => !ledger).map(({ slice, rows }) => [slice, Number(rows)] as const),
  };
}

/** See `RowLoads.recordUnknown`. Outcomes with equal segment, operation, time and keys are one outcome. */
async function recordUnknown(tx: Transaction, job: string, unknown: readonly UnknownOutcome[]): Promise<void> {
  const { dialect } = tx;
  const { values, from } = recordsOf(tx, outcomes, ['id', 'recorded_at']);
  const records = unknown.map(({ book, operation, keys, intendedAt, reason, estimateMicros }) => ({
    ...{ job, book, operation, unit_keys: keys, intended_at: intendedAt, reason, estimate_micros: estimateMicros },
  }));
  const id = 'md5(concat_ws(chr(10), r.book, r.operation, r.intended_at, CAST(r.unit_keys AS text)))';
  const once = `FROM (SELECT DISTINCT ON (book, operation, intended_at, unit_keys) * ${from}) r`;
  await tx.run(
    `${insertInto('unknown_outcomes', { ...values, id, recorded_at: dialect.now() }, once)}
     ON CONFLICT (job, id) DO UPDATE SET reason = excluded.reason, estimate_micros = excluded.estimate_micros`,
    [dialect.json(JSON.stringify(records))],
  );
}

async function recordRun(tx: Transaction, run: RunRecord): Promise<readonly SchemaChange[]> {
  const { startedAt, endedAt, costMicros, ...facts } = run;
  const [job] = await tx.rows<InputColumns & { readonly before: string | null } & StoredTexts>(
    `SELECT columns, types, ${storedTexts}, (
       SELECT CAST(columns AS text) FROM searchflow_runs WHERE job = $1 AND run <> $2 AND columns IS NOT NULL ORDER BY ended_at DESC LIMIT 1
     ) AS before
     FROM searchflow_jobs WHERE job = $1`,
    [run.job, run.run],
  );
  const columns = job ? schemaOf({ ...shapeOf(job), columns: job.columns, types: job.types }) : [];
  const differences = job?.before ? schemaChanges(JSON.parse(job.before), columns) : [];
  const schema = { columns, schema_changes: differences.length > 0 ? differences : undefined };
  const record = { ...facts, ...schema, started_at: startedAt, ended_at: endedAt, cost_micros: costMicros };
  const { values, from } = recordsOf(tx, runs);
  const changes = Object.keys(values).filter((name) => !runs.key?.includes(name));
  await tx.run(
    `${insertInto('searchflow_runs', values, from)}
     ON CONFLICT (job, run) DO UPDATE SET ${changes.map((name) => `${name} = excluded.${name}`).join(', ')}`,
    [tx.dialect.json(JSON.stringify([record]))],
  );
  return differences;
}

/**
 * See `RowProgress.summary`. `success + error + invalid + missing = rows`: answers to other options are not counted, so their rows are
 * missing. Earlier versions of rows are not counted either.
 */
export async function summarize(tx: Transaction, job: string, shown: string): Promise<WarehouseSummary> {
  const [record] = await tx.rows<{ rows: unknown; view: string; changes: string | null; published: string | null }>(
    `SELECT j.rows, j.view_name AS view, CAST(r.schema_changes AS text) AS changes, CAST(r.published AS text) AS published
     FROM searchflow_jobs j LEFT JOIN searchflow_runs r ON r.job = j.job
     WHERE j.job = $1 ORDER BY r.ended_at DESC NULLS LAST LIMIT 1`,
    [job],
  );
  if (record === undefined) throw unknownJob(job, shown);
  const discarded = discardedRow;
  const groups = await tx.rows<{ status: string; tag: string | null; discarded: boolean; count: unknown }>(
    `SELECT CASE WHEN vanished_at IS NULL THEN status ELSE 'vanished' END AS status, error_tag AS tag,
       vanished_at IS NULL AND status <> 'success' AND ${discarded} AS discarded, count(*) AS count
     FROM row_store e WHERE job = $1 AND (outdated_at IS NULL OR (vanished_at IS NOT NULL AND length(row_hash) = 16))
     GROUP BY 1, 2, 3 ORDER BY 4 DESC, 2`,
    [job],
  );
  const counts: Record<string, number> = {};
  const tags: Record<string, number> = {};
  let rowsDiscarded = 0;
  for (const { status, tag, discarded: isDiscarded, count } of groups) {
    counts[status] = (counts[status] ?? 0) + Number(count);
    if (isDiscarded) rowsDiscarded += Number(count);
    else if (status !== 'vanished' && tag !== null) tags[tag] = (tags[tag] ?? 0) + Number(count);
  }
  const rows = Number(record.rows);
  const { success = 0, error = 0, invalid = 0, vanished = 0 } = counts;
  const misfits = await countMisfits(tx, job);
  const hasMisfits = Object.keys(misfits).length > 0;
  return {
    rows,
    success,
    error,
    invalid,
    missing: rows - success - error - invalid,
    vanished,
    tags,
    misfits: hasMisfits ? misfits : undefined,
    discarded: rowsDiscarded > 0 ? rowsDiscarded : undefined,
    published: record.published === null ? undefined : (JSON.parse(record.published) as PublishOutcome),
    schemaChanges: record.changes === null ? undefined : (JSON.parse(record.changes) as readonly SchemaChange[]),
    view: typedName(tx.dialect.prefix + identifier(record.view)),
  };
}

/**
 * See `RowMarks.forget`. The mark of a row has no time in `before` until the bytes are removed from the files, see `purgeForgotten`. A bad
 * row stays `invalid`.
 */
async function forgetRows(tx: Transaction, { keys, badRows }: ForgetSubjects, dryRun: boolean): Promise<number> {
  const { dialect } = tx;
  await tx.createTemp('forgotten', 'SELECT DISTINCT unnest(CAST($1 AS text[])) AS k', [keys]);
  await tx.createTemp('bad_rows', 'SELECT unnest(CAST($1 AS text[])) AS job, unnest(CAST($2 AS text[])) AS h', [
    badRows.map(({ job }) => job),
    badRows.map(({ hash }) => hash),
  ]);
  const named = `(e.unit_key IN (SELECT k FROM forgotten)
    OR e.unit_key IS NULL AND EXISTS (SELECT 1 FROM bad_rows b WHERE b.job = e.job AND b.h = e.row_hash))`;
  const hasValues = `(e.error_tag IS DISTINCT FROM '${FORGOTTEN}' OR e.url IS NOT NULL OR e.response IS NOT NULL
    OR array_to_string(e.input, '') <> '')`;
  const wanted = `FROM row_store e WHERE ${named} AND ${hasValues}`;
  const [sum] = await tx.rows<{ rows: unknown }>(`SELECT count(*) AS rows ${wanted}`);
  const rows = Number(sum?.rows ?? 0);
  const jobs = await tx.rows<{ job: string }>(`SELECT DISTINCT e.job ${wanted} ORDER BY 1`);
  for (const { job } of jobs) {
    if (!dryRun) await tx.lock({ job });
    await refuseWaiting(tx, job);
  }
  if (dryRun) return rows;
  if (rows > 0) {
    await tx.run(
      `DELETE FROM misfits WHERE EXISTS (SELECT 1 FROM row_store e
           WHERE e.job = misfits.job AND e.row_number = misfits.row_number AND ${named})`,
    );
    await tx.run(
      `INSERT INTO row_marks (job, subject, mark, before, marked_at)
       SELECT e.job, coalesce(e.unit_key, e.row_hash), 'forgotten', NULL, ${dialect.now()} ${wanted} GROUP BY 1, 2
       ON CONFLICT (job, subject) DO UPDATE SET mark = excluded.mark, before = excluded.before, marked_at = excluded.marked_at`,
    );
    const changes = [
      `status = CASE WHEN e.unit_key IS NULL THEN e.status ELSE 'error' END`,
      `error_tag = '${FORGOTTEN}'`,
      `error_message = '${failureTags.FORGOTTEN.message}'`,
      `input = ${dialect.emptied('e.input')}`,
      'request_id = CASE WHEN strpos(e.request_id, e.url) > 0 THEN NULL ELSE e.request_id END',
      'url = NULL',
      ...[...answerColumns, ...(dialect.keepsExact ? exactColumns : [])].map(({ name }) => `${name} = NULL`),
    ];
    await tx.run(`UPDATE row_store AS e SET ${changes.join(', ')} WHERE ${named} AND ${hasValues}`);
  }
  await tx.run(
    `UPDATE unknown_outcomes SET reason = $1 WHERE NOT (reason = ANY(CAST($2 AS text[])))
       AND id IN (SELECT o.id FROM (SELECT id, unnest(unit_keys) AS k FROM unknown_outcomes) o JOIN forgotten f ON f.k = o.k)`,
    [REMOVED_REASON, keptReasons],
  );
  return rows;
}

/** Condition: a forgotten row of `row_marks` whose bytes may still be in the files of the database. */
export const unpurged = `mark = 'forgotten' AND before IS NULL`;
