import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Freshness } from '../../../core/purchase/freshness.js';
import { type RowWarehouse, WarehouseBusy } from '../../../core/rows/row-warehouse.js';
import { createExports } from '../../export/create-exports.js';
import { type AnswerRow, answersSql, knownSql, toKnownAnswer } from '../../shared/known-answers.js';
import { checkGeneration, loadedRowsSql, slicesLackingRows, toLoadedRows } from '../../shared/ledger.js';
import { unknownJob } from '../../shared/warehouse-summary.js';
import { inTransaction } from '../driver/in-transaction.js';
import { Warehouse } from '../open/warehouse.js';
import { stale, useFreshness } from './freshness.js';
import { jobRows } from './job-rows.js';
import { loadWholeOrInParts } from './load-parts.js';
import { misreadAnswers, putAnswers } from './misread-answers.js';
import { openJob, unloadedSlices } from './open-job.js';
import { pendingKeys } from './pending.js';
import { recordRun } from './record-run.js';
import { summarize } from './summarize.js';
import { recordUnknown } from './unknown-outcomes.js';

/** Time in ms for which an export waits while another process, such as another export, has the file open. */
const FREE_MS = 10_000;
const POLL_MS = 200;

const inKeys = 'IN (SELECT unnest($keys))';

/**
 * Returns a DuckDB file as a warehouse. The file is opened for each use and closed when idle, because only one process can have the file
 * open. While another process has the file, every method rejects with `WarehouseBusy`. Call this function once for each file and process:
 * see `createWarehouses`.
 */
export function createDuckDbRows(options: {
  readonly file: string;
  /** Receives a sentence about each long operation. */
  readonly say?: (sentence: string) => void;
}): RowWarehouse {
  const warehouse = Warehouse.at(resolve(options.file));
  const say = options.say ?? (() => undefined);
  const existing = (job: string) => {
    if (!warehouse.exists()) throw unknownJob(job, warehouse.file);
    return warehouse;
  };
  const answersIn = (keys: readonly string[], freshness: Freshness | undefined, sql: string) =>
    warehouse.useWhole(async (connection) => {
      const { LIST, listValue, VARCHAR } = await import('@duckdb/node-api');
      await useFreshness(connection, freshness);
      const reader = await connection.runAndReadAll(sql, { keys: listValue([...keys]) }, { keys: LIST(VARCHAR) });
      return reader.getRowObjectsJson();
    });
  return {
    openJob: (job, rowsFiles, freshness) =>
      warehouse.useWhole((connection) =>
        inTransaction(connection, () => openJob(connection, job, rowsFiles, freshness, say)),
      ),

    async unloadedSlices(job, freshness) {
      if (!warehouse.exists()) checkGeneration(job.job, job.generation, undefined);
      return warehouse.useWhole((connection) =>
        inTransaction(connection, () => unloadedSlices(connection, job, freshness)),
      );
    },

    async holdsRows(job) {
      if (!warehouse.exists()) return false;
      return warehouse.use(async (connection) => {
        const found = await connection.runAndReadAll('SELECT 1 FROM row_store WHERE job = $job LIMIT 1', { job });
        return found.currentRowCount > 0;
      });
    },

    async holdsAnswers() {
      if (!warehouse.exists()) return false;
      return warehouse.use(async (connection) => {
        const found = await connection.runAndReadAll('SELECT 1 FROM row_store WHERE unit_key IS NOT NULL LIMIT 1');
        return found.currentRowCount > 0;
      });
    },

    async known(keys, freshness) {
      if (keys.length === 0 || !warehouse.exists()) return new Map();
      const rows = await answersIn(keys, freshness, knownSql(inKeys, stale('e')));
      return new Map(rows.map(({ unit_key, micros }) => [String(unit_key), Number(micros)]));
    },

    async answers(keys, freshness) {
      if (keys.length === 0 || !warehouse.exists()) return [];
      const sql = answersSql(inKeys, stale('e'), 'epoch_ms(e.fetched_at)', 'CAST(e.response AS VARCHAR)', 'NULL');
      return ((await answersIn(keys, freshness, sql)) as unknown as AnswerRow[]).map(toKnownAnswer);
    },

    async loadedSlices(job, generation) {
      if (!warehouse.exists()) return null;
      return warehouse.use(async (connection) => {
        const jobs = await connection.runAndReadAll('SELECT 1 FROM searchflow_jobs WHERE job = $job', { job });
        if (jobs.currentRowCount === 0) return null;
        const slices = await connection.runAndReadAll(
          `SELECT slice FROM load_ledger WHERE job = $job AND generation = $generation
             AND slice NOT IN (${slicesLackingRows('$job', '$generation')}) ORDER BY slice`,
          { job, generation },
        );
        return slices.getRowsJson().map((row) => Number(row[0]));
      });
    },

    loadedRows: (job, generation, freshness) =>
      existing(job).useWhole(async (connection) => {
        await useFreshness(connection, freshness);
        const sql = loadedRowsSql(stale('e'), '$job', '$generation');
        return toLoadedRows((await connection.runAndReadAll(sql, { job, generation })).getRowObjectsJson());
      }),

    pendingKeys: (job, _generation, _slice, rowsFile, freshness) =>
      warehouse.use((connection) => pendingKeys(connection, job, rowsFile, freshness)),

    load: (batch, freshness) => loadWholeOrInParts(warehouse, batch, freshness),

    misreadAnswers: async (job) => existing(job).use((connection) => misreadAnswers(connection, job)),
    putAnswers: async (job, unitFile) =>
      existing(job).transaction((connection) => putAnswers(connection, job, unitFile)),

    async recordUnknown(job, outcomes) {
      if (outcomes.length > 0) await warehouse.transaction((connection) => recordUnknown(connection, job, outcomes));
    },

    async recordRun(run) {
      await warehouse.transaction((connection) => recordRun(connection, run));
    },

    summary: async (job) => existing(job).useWhole((connection) => summarize(connection, job, warehouse.file)),

    ...createExports({
      into: warehouse.file,
      say,
      check: async (job) => void existing(job),
      read: (job, _scratch, work) =>
        onceFree(() =>
          existing(job).useWhole(async (connection, grant) => {
            const rows = await jobRows(connection, job, warehouse.file);
            return work({ connection, rows, need: (memory) => grant({ memory }) });
          }),
        ),
    }),

    close: () => warehouse.close(),
  };
}

/** Runs work that begins with opening the file, and retries the work while another process has the file. */
async function onceFree<T>(work: () => Promise<T>): Promise<T> {
  const until = performance.now() + FREE_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof WarehouseBusy) || performance.now() > until) throw error;
      await delay(POLL_MS);
    }
  }
}
