import type { ColumnType } from '../../core/rows/column-type.js';
import { JobNotLoaded } from '../../core/rows/warehouse-errors.js';
import type { Database, Purpose } from '../database.js';
import type { Transaction } from '../dialect.js';
import { resultColumnsOf, type StoredTexts, storedTexts } from './job-columns.js';
import { viewedRows } from './job-view.js';

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
  const where = viewedRows(job);
  const extra = await rows(
    `SELECT 1 AS found FROM row_store WHERE ${where} AND error_tag = 'CSV_RAGGED' AND array_length(input, 1) > $1 LIMIT 1`,
    [columns.length],
  );
  const facts = { input, view, columns, types, results: resultColumnsOf(record), last: Number(last), run };
  return { ...facts, where, hasExtraCells: extra.length > 0 };
}
