import { leftOut } from '../../core/purchase/failure-tags.js';
import type { PublishOutcome, SchemaChange, WarehouseSummary } from '../../core/row-job-schemas.js';
import type { RowLoads, RowProgress } from '../../core/rows/row-warehouse.js';
import { schemaChanges } from '../../core/rows/schema-changes.js';
import type { Database, WarehousesOptions } from '../database.js';
import type { Transaction } from '../dialect.js';
import { identifier, typedName } from '../shared/duckdb-quote.js';
import { knownAnswers } from './answers.js';
import { type InputColumns, type StoredTexts, schemaOf, shapeOf, storedTexts } from './job-columns.js';
import { loading, loadSlice, pendingKeys } from './load-slice.js';
import { countMisfits } from './misfits.js';
import { checkGeneration, openJob, slicesLackingRows, unloadedSlices } from './open-job.js';
import { transactionsOf, unknownJob } from './read-job.js';
import { loadRetry, openRetry, retryUnits } from './retry.js';
import { currentRow, discardedRow, insertInto, recordsOf, stale, useFreshness } from './row-sql.js';
import { outcomes, runs } from './row-tables.js';

export function createRowLoads(
  database: Database,
  say: WarehousesOptions['say'] = () => undefined,
): RowProgress & RowLoads {
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
      existing(job, 'write', async (tx) => {
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
      }),

    pendingKeys: (job, rowsFile, freshness) => transaction('write', (tx) => pendingKeys(tx, job, rowsFile, freshness)),
    load: (batch, freshness) => loading(database, (tx, careful) => loadSlice(tx, batch, freshness, careful)),

    openRetry: (job, rule, by) => existing(job, 'write', (tx) => openRetry(tx, job, rule, by)),
    retryUnits: (job, slices) => existing(job, 'read', (tx) => retryUnits(tx, job, slices)),
    async loadRetry(batch) {
      if (!(await database.exists())) throw unknownJob(batch.job, shown);
      return loading(database, (tx, careful) => loadRetry(tx, batch, careful));
    },
    /** Outcomes with equal segment, operation, time and keys are one outcome. */
    async recordUnknown(job, unknown) {
      if (unknown.length === 0) return;
      await transaction('write', async (tx) => {
        const { dialect } = tx;
        const { values, from } = recordsOf(tx, outcomes, ['id', 'recorded_at']);
        const records = unknown.map(({ book, operation, keys, intendedAt, reason, estimateMicros }) => ({
          ...{
            job,
            book,
            operation,
            unit_keys: keys,
            intended_at: intendedAt,
            reason,
            estimate_micros: estimateMicros,
          },
        }));
        const id = 'md5(concat_ws(chr(10), r.book, r.operation, r.intended_at, CAST(r.unit_keys AS text)))';
        const once = `FROM (SELECT DISTINCT ON (book, operation, intended_at, unit_keys) * ${from}) r`;
        await tx.run(
          `${insertInto('unknown_outcomes', { ...values, id, recorded_at: dialect.now() }, once)}
           ON CONFLICT (job, id) DO UPDATE SET reason = excluded.reason, estimate_micros = excluded.estimate_micros`,
          [dialect.json(JSON.stringify(records))],
        );
      });
    },
    recordRun: (run) =>
      transaction('write', async (tx) => {
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
      }),
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
  const groups = await tx.rows<{ status: string; tag: string | null; discarded: boolean; count: unknown }>(
    `SELECT CASE WHEN vanished_at IS NULL THEN status ELSE 'vanished' END AS status, error_tag AS tag,
       vanished_at IS NULL AND status <> 'success' AND ${discardedRow} AS discarded, count(*) AS count
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
