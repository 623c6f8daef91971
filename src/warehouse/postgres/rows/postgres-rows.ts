import { join } from 'node:path';
import type { Freshness } from '../../../core/purchase/freshness.js';
import type { RowWarehouse } from '../../../core/rows/row-warehouse.js';
import { createExports } from '../../export/create-exports.js';
import { type AnswerRow, answersSql, knownSql, toKnownAnswer } from '../../shared/known-answers.js';
import { checkGeneration, loadedRowsSql, slicesLackingRows, toLoadedRows } from '../../shared/ledger.js';
import { unknownJob } from '../../shared/warehouse-summary.js';
import { setMemory, withScratchDuckDb } from '../driver/scratch-duckdb.js';
import { Warehouse, type WarehouseOptions } from '../open/warehouse.js';
import { stale, useFreshness } from './freshness.js';
import { jobRows } from './job-rows.js';
import { loadSlice } from './load-slice.js';
import { misreadAnswers, putAnswers } from './misread-answers.js';
import { openJob, unloadedSlices } from './open-job.js';
import { pendingKeys } from './pending.js';
import { recordRun } from './record-run.js';
import { summarize } from './summarize.js';
import { recordUnknown } from './unknown-outcomes.js';

const anyKey = '= ANY ($1::text[])';

/**
 * Returns a schema of a PostgreSQL database as a warehouse. `url`:
 * `postgres://user:password@host:5432/database?schema=name&sslmode=require`; the default schema is `searchflow`. Several processes may load
 * into the schema at the same time. While the database is unavailable or locked, every method waits and then rejects with `WarehouseBusy`.
 * Throws `WarehouseUnusable` for a text that is not an address.
 */
export function createPostgresRows(
  options: WarehouseOptions & { readonly url: string },
  warehouse = new Warehouse(options.url, options),
): RowWarehouse {
  const say = options.say ?? (() => undefined);
  const existing = async (job: string) => {
    if (!(await warehouse.exists())) throw unknownJob(job, warehouse.shown);
  };
  const answersIn = <R>(keys: readonly string[], freshness: Freshness | undefined, sql: string) =>
    warehouse.transaction(async (tx) => {
      await useFreshness(tx, freshness);
      return tx.query<R>(sql, [keys]);
    });
  return {
    async openJob(job, rowsFiles, freshness) {
      await warehouse.make();
      return warehouse.transaction((tx) => openJob(tx, warehouse.schema, job, rowsFiles, freshness, say));
    },

    async unloadedSlices(job, freshness) {
      if (!(await warehouse.exists())) checkGeneration(job.job, job.generation, undefined);
      return warehouse.transaction((tx) => unloadedSlices(tx, job, freshness));
    },

    async holdsRows(job) {
      if (!(await warehouse.exists())) return false;
      const rows = await warehouse.read((tx) => tx.query('SELECT FROM row_store WHERE job = $1 LIMIT 1', [job]));
      return rows.length > 0;
    },

    async holdsAnswers() {
      if (!(await warehouse.exists())) return false;
      const rows = await warehouse.read((tx) => tx.query('SELECT FROM row_store WHERE unit_key IS NOT NULL LIMIT 1'));
      return rows.length > 0;
    },

    async known(keys, freshness) {
      if (keys.length === 0 || !(await warehouse.exists())) return new Map();
      const rows = await answersIn<{ unit_key: string; micros: string }>(keys, freshness, knownSql(anyKey, stale('e')));
      return new Map(rows.map(({ unit_key, micros }) => [unit_key, Number(micros)]));
    },

    async answers(keys, freshness) {
      if (keys.length === 0 || !(await warehouse.exists())) return [];
      const fetchedMs = 'extract(epoch FROM e.fetched_at) * 1000';
      const sql = answersSql(anyKey, stale('e'), fetchedMs, 'e.response::text', 'e.answer_exact::text');
      return (await answersIn<AnswerRow>(keys, freshness, sql)).map(toKnownAnswer);
    },

    async loadedSlices(job, generation) {
      if (!(await warehouse.exists())) return null;
      return warehouse.read(async (tx) => {
        const jobs = await tx.query('SELECT FROM searchflow_jobs WHERE job = $1', [job]);
        if (jobs.length === 0) return null;
        const slices = await tx.query<{ slice: number }>(
          `SELECT slice FROM load_ledger WHERE job = $1 AND generation = $2
             AND slice NOT IN (${slicesLackingRows('$1', '$2')}) ORDER BY slice`,
          [job, generation],
        );
        return slices.map(({ slice }) => slice);
      });
    },

    async loadedRows(job, generation, freshness) {
      await existing(job);
      return warehouse.transaction(async (tx) => {
        await useFreshness(tx, freshness);
        return toLoadedRows(await tx.query(loadedRowsSql(stale('e'), '$1', '$2'), [job, generation]));
      });
    },

    pendingKeys: (job, _generation, _slice, rowsFile, freshness) =>
      warehouse.transaction((tx) => pendingKeys(tx, job, rowsFile, freshness)),

    load: (batch, freshness) => warehouse.transaction((tx) => loadSlice(tx, batch, freshness)),

    async misreadAnswers(job) {
      await existing(job);
      return warehouse.read((tx) => misreadAnswers(tx, job));
    },
    putAnswers: (job, unitFile) => warehouse.transaction((tx) => putAnswers(tx, job, unitFile)),

    async recordUnknown(job, outcomes) {
      if (outcomes.length > 0) await warehouse.transaction((tx) => recordUnknown(tx, job, outcomes));
    },

    async recordRun(run) {
      await warehouse.transaction((tx) => recordRun(tx, run));
    },

    async summary(job) {
      await existing(job);
      return warehouse.read((tx) => summarize(tx, job, warehouse.shown));
    },

    ...createExports({
      into: warehouse.shown,
      say,
      check: existing,
      read: async (job, scratch, work) => {
        const rows = await jobRows(warehouse, job, join(scratch, 'source.jsonl'));
        return withScratchDuckDb(join(scratch, 'spill'), (connection) =>
          work({ connection, rows, need: (megabytes) => setMemory(connection, megabytes) }),
        );
      },
    }),

    close: () => warehouse.close(),
  };
}
