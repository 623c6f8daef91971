import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { log } from '@temporalio/activity';
import type { Freshness } from '../../core/purchase/journal.js';
import { type StagedJob, wantedRows, wantedRowsOf, wantedSlices } from '../../core/rows/job.js';
import { type JobRecord, type LoadBatch, SinkUnusable } from '../../core/rows/sink.js';
import { cutRows, readSlice } from '../../rows/index.js';
import type { ActivityDeps } from '../base/deps.js';

/** Book of a slice: named by job, content and number, so that every attempt finds what the others bought. */
export function sliceSegment(job: string, generation: string, slice: number): string {
  return `${job}/${generation}/${String(slice).padStart(6, '0')}`;
}

/** The rows of a slice that are wanted. */
interface SliceRows {
  readonly rowsFile: string;
  /** Of the last slice that is asked for the rest stays unasked: these rows have no line in the ledger. */
  readonly partial: boolean;
  /** Path for further rows that are cut out of these; removed with them. */
  readonly cutFile: string;
}

/** Does something with the staged rows of a slice. Files that it takes are gone afterwards. */
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

/** What is loaded of a slice. */
interface SliceToLoad extends Pick<LoadBatch, 'slice' | 'attempt' | 'rowsFile' | 'partial'> {
  readonly keys: readonly string[];
  readonly freshness: Freshness | undefined;
}

/** Loads a slice whose units, by their keys, have all landed in the journal. */
export async function loadFromJournal(
  deps: ActivityDeps,
  staged: StagedJob,
  { keys, freshness, ...of }: SliceToLoad,
): Promise<{ readonly rows: number }> {
  const scratch = join(deps.scratchDir, `${of.attempt}.jsonl`);
  try {
    const { job, generation } = staged;
    const unitFiles = await deps.journal.unitFiles(sliceSegment(job, generation, of.slice), keys, scratch);
    const batch = { job, generation, ...of, unitFiles, sharedAnswers: sharesAnswers(staged) };
    return await deps.sinkFor(staged).load(batch, freshness);
  } finally {
    await rm(scratch, { force: true });
  }
}

/**
 * Compares a job that is through with its warehouse, which may have gone back in time since its slices were loaded (an older copy, a
 * lost end of its log), and loads what is missing from the journal. Buys nothing.
 */
export async function loadMissing(
  deps: ActivityDeps,
  staged: StagedJob,
  freshness: Freshness | undefined,
): Promise<void> {
  const sink = deps.sinkFor(staged);
  const { job, generation } = staged;
  const slices = (await sink.unloadedSlices(jobRecord(staged), freshness)).filter(
    (slice) => slice < wantedSlices(staged),
  );
  if (slices.length === 0) return;
  log.warn('The warehouse no longer has all rows that were loaded; loading them again from the journal', {
    job,
    slices: slices.length,
  });
  for (const slice of slices) {
    const attempt = randomUUID();
    await withSliceRows(deps, { staged, slice, attempt }, async ({ rowsFile, partial }) => {
      const keys = await sink.pendingKeys(job, generation, slice, rowsFile, freshness);
      // A slice of which only the first rows were asked for never has a line in the ledger.
      if (partial && keys.length === 0) return;
      const lost = keys.length - (await deps.journal.lookup(keys)).length;
      if (lost > 0) {
        throw new SinkUnusable(
          `The warehouse of ${job} has lost rows since they were loaded, and the journal lacks the answers of ${lost}; run the same command again`,
        );
      }
      await loadFromJournal(deps, staged, { slice, attempt, rowsFile, partial, keys, freshness });
    });
  }
}

/**
 * Loads what has landed of slices that a pause broke off, without their lines in the ledger: a person sees what was paid for while
 * the job waits. Buys nothing.
 */
export async function loadLanded(
  deps: ActivityDeps,
  staged: StagedJob,
  slices: readonly number[],
  freshness: Freshness | undefined,
): Promise<void> {
  const { job, generation } = staged;
  for (const slice of slices) {
    const attempt = randomUUID();
    await withSliceRows(deps, { staged, slice, attempt }, async ({ rowsFile, cutFile }) => {
      const wanted = (await readSlice(rowsFile)).flatMap(({ k }) => (k === null ? [] : [k]));
      const landed = new Set((await deps.journal.lookup([...new Set(wanted)], freshness)).map(({ key }) => key));
      if (landed.size === 0) return;
      await cutRows(rowsFile, ({ k }) => k === null || landed.has(k), cutFile);
      const keys = await deps.sinkFor(staged).pendingKeys(job, generation, slice, cutFile, freshness);
      if (keys.length > 0)
        await loadFromJournal(deps, staged, { slice, attempt, rowsFile: cutFile, partial: true, keys, freshness });
    });
  }
}

/** The facts of a job that its warehouse keeps. */
export function jobRecord(staged: StagedJob): JobRecord {
  const { job, name, origin, operation, input, columns, generation, options, rows, slices } = staged;
  const { template = null, rowsPerRun = 1 } = staged;
  const request = template === null && rowsPerRun === 1 ? {} : { request: { template, rowsPerRun } };
  return { job, name, origin, operation, input, columns, generation, options, ...request, rows, slices };
}

/** Whether rows share an answer that has an object for each: without a schema it is a text for all of them. */
function sharesAnswers({ rowsPerRun = 1, options }: StagedJob): boolean {
  return rowsPerRun > 1 && Boolean(options.outputSchema);
}
