import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError } from '../../core/errors/coded-error.js';
import type { StagedJob } from '../../core/job-entry-schemas.js';
import type { JobSummary, WarehouseSummary } from '../../core/row-job-schemas.js';
import { isUnfinished } from '../../core/rows/job-entries.js';
import { JobNotLoaded } from '../../core/rows/warehouse-errors.js';
import { JobFailed, JobStopped } from '../config/runtime-types.js';
import type { JobHandle, RowJobHandle } from '../control/job-handle.js';
import { noteState } from '../staging/find-job.js';
import type { RuntimeParts } from './runtime-parts.js';

const COUNT_MS = 2000;

/**
 * Extends a handle: its `result` also records the end of the job and writes the CSV, unless a worker has done that. `worksHere`: whether this
 * process runs the worker, and so has the warehouse open. `startsAgain`: whether another command starts the job again after a cancel.
 */
export function withJobEnd(
  parts: RuntimeParts,
  handle: RowJobHandle,
  staged: StagedJob,
  worksHere: () => boolean,
  startsAgain?: () => Promise<boolean>,
): JobHandle {
  const ofLastRun = (result: Promise<JobSummary>): Promise<JobSummary> =>
    result.catch(async (error: unknown) => {
      if (error instanceof JobFailed && error.phase === 'cancelled' && (await startsAgain?.()))
        return ofLastRun(handle.result());
      throw error;
    });
  const finish = async (result: Promise<JobSummary>): Promise<JobSummary> => {
    const summary = await ofLastRun(result).catch(async (error: unknown) => {
      // The job has no activity left that could record its end.
      if (error instanceof JobFailed || error instanceof JobStopped) {
        await reportEnd(parts, staged.job).catch(() => undefined);
        const counts = error instanceof JobFailed && worksHere() ? await countBriefly(parts, staged) : null;
        await noteState(parts.store.entries, staged, {
          phase: error.phase,
          message: error.isUsual ? undefined : error.message,
          next: error.next,
          since: Date.now(),
          counts: counts ?? undefined,
        }).catch(() => undefined);
      }
      throw error;
    });
    const entry = await parts.store.entries.get(staged.job);
    return { ...summary, csv: summary.csv ?? (await csvHere(parts, staged, entry?.csv ?? null)) };
  };
  return handle.with({ finish });
}

async function reportEnd(parts: RuntimeParts, job: string): Promise<void> {
  const [entry, { client }] = await Promise.all([parts.store.entries.get(job), parts.connect()]);
  // The module is loaded here, because commands that only show jobs load this file.
  if (entry && isUnfinished(entry))
    await (await import('../control/workflow-handle.js')).reportEndOfJob(parts, client, entry);
}

/** Counts the rows of an ended job; null if counting takes long or fails. */
async function countBriefly(parts: RuntimeParts, staged: StagedJob): Promise<WarehouseSummary | null> {
  const counting = countRows(parts, staged).catch(() => null);
  return Promise.race([counting, sleep(COUNT_MS, null, { ref: false })]);
}

/** Writes the CSV of a job of a shared store, whose workers may be on other machines, if the CSV's folder exists on this machine. */
async function csvHere(parts: RuntimeParts, staged: StagedJob, csv: string | null): Promise<string | null> {
  if (csv === null || !parts.store.shared || !existsSync(dirname(csv))) return null;
  const { rows } = await parts.warehouses.of(staged).exportCsv(staged.job, csv, staged.csvForm);
  if (rows >= staged.rows) return csv;
  throw new CodedError(
    'warehouse-rows-lost',
    `${csv} has ${rows} of ${staged.rows} rows, because the warehouse has lost some. Run the same command again`,
  );
}

/** Counts the rows of a job in its warehouse; if the warehouse does not have the job, all its rows count as missing. */
export async function countRows(parts: RuntimeParts, staged: StagedJob): Promise<WarehouseSummary> {
  try {
    return await parts.warehouses.of(staged).summary(staged.job);
  } catch (error) {
    if (!(error instanceof JobNotLoaded)) throw error;
    const { rows } = staged;
    return { rows, success: 0, error: 0, invalid: 0, missing: rows, vanished: 0, tags: {} };
  }
}
