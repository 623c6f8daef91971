import { resolve } from 'node:path';
import type { Sink } from '../../core/sink.js';
import { exportCsv } from '../export/export-csv.js';
import { exportParquet } from '../export/export-parquet.js';
import { checkGeneration, slicesLackingRows } from '../ledger.js';
import { unknownJob } from '../warehouse-summary.js';
import { inTransaction } from './in-transaction.js';
import { jobRows } from './job-rows.js';
import { loadSlice } from './load-slice.js';
import { openJob, unloadedSlices } from './open-job.js';
import { pendingKeys } from './pending.js';
import { recordRun } from './record-run.js';
import { summarize } from './summarize.js';
import { recordUnknown } from './unknown-outcomes.js';
import { Warehouse } from './warehouse.js';

/**
 * A DuckDB file as a warehouse. It is opened for each use and closed when idle, because DuckDB lets one process at a time
 * have it: held by another, every method rejects with `SinkBusy`. One sink a file and process: see `createSinks`.
 */
export function createDuckDbSink(options: {
  readonly file: string;
  /** Told in a sentence what takes long. */
  readonly say?: (sentence: string) => void;
}): Sink {
  const warehouse = new Warehouse(resolve(options.file));
  const say = options.say ?? (() => undefined);
  const existing = (job: string) => {
    if (!warehouse.exists()) throw unknownJob(job, warehouse.file);
    return warehouse;
  };
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

    pendingKeys: (job, _generation, _slice, rowsFile, freshness) =>
      warehouse.use((connection) => pendingKeys(connection, job, rowsFile, freshness)),

    load: (batch, freshness) => warehouse.transaction((connection) => loadSlice(connection, batch, freshness)),

    async recordUnknown(job, outcomes) {
      if (outcomes.length > 0) await warehouse.transaction((connection) => recordUnknown(connection, job, outcomes));
    },

    async recordRun(run) {
      await warehouse.transaction((connection) => recordRun(connection, run));
    },

    summary: async (job) => existing(job).useWhole((connection) => summarize(connection, job, warehouse.file)),

    exportCsv: async (job, file) =>
      existing(job).useWhole(async (connection) =>
        exportCsv(connection, await jobRows(connection, job, warehouse.file), resolve(file)),
      ),

    exportParquet: async (job, dir) =>
      existing(job).useWhole(async (connection) =>
        exportParquet(connection, await jobRows(connection, job, warehouse.file), resolve(dir)),
      ),

    close: () => warehouse.close(),
  };
}
