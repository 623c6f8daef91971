import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { log } from '@temporalio/activity';
import type { StagedJob } from '../../core/job-entry-schemas.js';
import type { RetryFreshness } from '../../core/purchase/freshness.js';
import { wantedRows, wantedRowsOf, wantedSlices } from '../../core/rows/job.js';
import { sharesAnswers } from '../../core/rows/row-operation.js';
import { jobRecord, type LoadBatch } from '../../core/rows/row-warehouse.js';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import { cutRows, readUnits } from '../../rows/index.js';
import type { ActivityDeps } from '../base/deps.js';

/**
 * Returns the name of a slice's segment. The name contains job, generation and number, so that every attempt finds the purchases of earlier
 * attempts.
 */
export function sliceSegment(job: string, generation: string, slice: number): string {
  return `${job}/${generation}/${String(slice).padStart(6, '0')}`;
}

interface SliceRows {
  readonly rowsFile: string;
  /** Whether some rows of the slice are after the limit. If so, the slice gets no line in the ledger. */
  readonly partial: boolean;
  /** Path for a file with only the wanted rows. The file is removed afterwards. */
  readonly cutFile: string;
}

/** Calls `work` with the staged rows of a slice; removes temporary files of these rows afterwards. */
export async function withSliceRows<T>(
  deps: ActivityDeps,
  { staged, slice, attempt }: { readonly staged: StagedJob; readonly slice: number; readonly attempt: string },
  work: (rows: SliceRows) => Promise<T>,
): Promise<T> {
  const [firstFile, cutFile] = ['rows', 'cut'].map((name) => join(deps.scratchDir, `${attempt}.${name}.jsonl.gz`)) as [
    string,
    string,
  ];
  try {
    const stagedFile = await deps.stages.slice(staged, slice);
    const partial = wantedRowsOf(staged, slice) < wantedRowsOf({ ...staged, limit: staged.rows }, slice);
    const rowsFile = partial ? await cutRows(stagedFile, ({ n }) => n <= wantedRows(staged), firstFile) : stagedFile;
    return await work({ rowsFile, partial, cutFile });
  } finally {
    await rm(firstFile, { force: true });
    await rm(cutFile, { force: true });
  }
}

interface SliceToLoad extends Pick<LoadBatch, 'slice' | 'attempt' | 'rowsFile' | 'partial'> {
  readonly keys: readonly string[];
  readonly freshness: RetryFreshness | undefined;
}

/** Loads a slice whose units have all landed in the journal. */
export async function loadFromJournal(
  deps: ActivityDeps,
  staged: StagedJob,
  { keys, freshness, ...of }: SliceToLoad,
): Promise<{ readonly rows: number }> {
  return withUnitFiles(deps, staged, { keys, ...of }, (unitFiles) => {
    const { job, generation } = staged;
    const batch = { job, generation, ...of, unitFiles, sharedAnswers: sharesAnswers(staged) };
    return deps.warehouseFor(staged).load(batch, freshness);
  });
}

/** Calls `work` with files of the landed answers of these units, and removes copies afterwards. `slice`: the slice that has most of them. */
export async function withUnitFiles<T>(
  { scratchDir, journal }: Pick<ActivityDeps, 'scratchDir' | 'journal'>,
  { job, generation }: StagedJob,
  { slice, attempt, keys }: Pick<SliceToLoad, 'slice' | 'attempt' | 'keys'>,
  work: (unitFiles: readonly string[]) => Promise<T>,
): Promise<T> {
  const scratch = join(scratchDir, `${attempt}.jsonl`);
  try {
    return await work(await journal.unitFiles(sliceSegment(job, generation, slice), keys, scratch));
  } finally {
    await rm(scratch, { force: true });
  }
}

/**
 * Compares a complete job with its warehouse and loads missing rows from the journal. A warehouse can lose loaded rows if it is restored
 * from an older copy or the end of its log is lost. Buys nothing.
 */
export async function loadMissing(
  deps: ActivityDeps,
  staged: StagedJob,
  freshness: RetryFreshness | undefined,
): Promise<void> {
  const warehouse = deps.warehouseFor(staged);
  const { job } = staged;
  const slices = (await warehouse.unloadedSlices(jobRecord(staged), freshness)).filter(
    (slice) => slice < wantedSlices(staged),
  );
  let isReported = false;
  for (const slice of slices) {
    const attempt = randomUUID();
    await withSliceRows(deps, { staged, slice, attempt }, async ({ rowsFile, partial }) => {
      const keys = await warehouse.pendingKeys(job, rowsFile, freshness);
      // A slice with rows after the limit has no line in the ledger.
      if (partial && keys.length === 0) return;
      if (!isReported) {
        log.warn('The warehouse has lost rows that were loaded; they are loaded again from the journal', {
          job,
          slice,
        });
        isReported = true;
      }
      const lost = keys.length - (await deps.journal.lookup(keys)).length;
      if (lost > 0) {
        throw new WarehouseUnusable(
          'warehouse-rows-lost',
          `The warehouse of ${job} has lost rows since they were loaded, and the journal lacks the answers of ${lost}; run the same command again`,
        );
      }
      await loadFromJournal(deps, staged, { slice, attempt, rowsFile, partial, keys, freshness });
    });
  }
}

/**
 * Loads the landed answers of slices that a pause interrupted, so that their rows are visible while the job is paused. Writes no lines into
 * the ledger. Buys nothing.
 */
export async function loadLanded(
  deps: ActivityDeps,
  staged: StagedJob,
  slices: readonly number[],
  freshness: RetryFreshness | undefined,
): Promise<void> {
  const { job } = staged;
  for (const slice of slices) {
    const attempt = randomUUID();
    await withSliceRows(deps, { staged, slice, attempt }, async ({ rowsFile, cutFile }) => {
      const wanted = (await readUnits(rowsFile)).flatMap(({ k }) => (k === null ? [] : [k]));
      const landed = new Set((await deps.journal.lookup([...new Set(wanted)], freshness)).map(({ key }) => key));
      if (landed.size === 0) return;
      await cutRows(rowsFile, ({ k }) => k === null || landed.has(k), cutFile);
      const keys = await deps.warehouseFor(staged).pendingKeys(job, cutFile, freshness);
      if (keys.length > 0)
        await loadFromJournal(deps, staged, { slice, attempt, rowsFile: cutFile, partial: true, keys, freshness });
    });
  }
}
