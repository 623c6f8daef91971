import type { StagedJob } from '../../core/job-entry-schemas.js';
import type { JournalTotals, UnknownOutcome } from '../../core/purchase/journal.js';
import type {
  Freshness,
  JobSummary,
  RetryCounts,
  ServiceWarning,
  WarehouseSummary,
} from '../../core/row-job-schemas.js';
import { wantedRows } from '../../core/rows/job.js';
import { type Pause, sentenceOf } from '../../core/rows/pause.js';
import { WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import type { ActivityDeps } from '../base/deps.js';

/** Totals of the purchases for a job. */
export interface Spent extends Omit<JournalTotals, 'unitsLanded' | 'unknown'> {
  /** The amount that counts against a budget: the cost, plus the estimates of requests in flight and unknown outcomes. */
  readonly committedMicros: number;
  readonly unknownOutcomes: number;
}

/** Input of `finishJob`. */
export interface FinishInput {
  readonly staged: StagedJob;
  readonly csv: string | null;
  readonly startedAt: number;
  /** Purchases for the job before this run. Null: there were no earlier purchases, so all purchases belong to this run. */
  readonly before: Spent | null;
  /** Failed units that were bought once more. Absent: none. */
  readonly retried?: RetryCounts;
  /** See `JobSummary.warnings`. */
  readonly warnings?: readonly ServiceWarning[];
  /** Id of the run. Absent: the run is not recorded in the warehouse. */
  readonly run?: string;
  readonly scheduled?: boolean;
  /** Why a scheduled run ends early. Absent or null: the run is complete. */
  readonly stopped?: Pause | null;
  readonly freshness?: Freshness;
  /** Whether a publish follows, which decides how the run ends. */
  readonly publishes?: boolean;
}

/** The summary of a job, with all its unknown outcomes. */
export interface Summarized {
  readonly summary: JobSummary;
  readonly unknown: readonly UnknownOutcome[];
}

/** Makes the summary of a job from its warehouse and the journal. Also records unknown outcomes and exports the rows. */
export async function summarize(
  deps: Pick<ActivityDeps, 'journal' | 'warehouseFor'>,
  input: FinishInput,
): Promise<Summarized> {
  const { staged, csv, stopped = null } = input;
  const warehouse = deps.warehouseFor(staged);
  const totals = await deps.journal.totals(`${staged.job}/`);
  // Slices that were killed or refused have reported neither purchases nor failures, so the journal and the warehouse count them.
  const before = input.before ?? totals;
  await warehouse.recordUnknown(staged.job, totals.unknown);
  const counts = await warehouse.summary(staged.job);
  const written = csv === null ? null : await warehouse.exportCsv(staged.job, csv, staged.csvForm);
  const unasked = staged.rows - wantedRows(staged);
  const missing = Math.max(counts.missing, counts.rows - (written?.rows ?? counts.rows)) - unasked;
  if (input.run !== undefined && !stopped && missing > 0) {
    throw new WarehouseUnusable(
      'warehouse-rows-lost',
      `${missing} of the ${counts.rows} rows of ${staged.job} are no longer in its warehouse; run the same command again`,
    );
  }
  const failed = await warehouse.failedSince(staged.job, input.startedAt);
  const summary = summaryOf({ ...input, before, failed, counts, totals });
  const { unknown } = totals;
  if (input.run === undefined) return { summary, unknown };
  const { tags, misfits, schemaChanges, published, discarded, view, ...rows } = counts;
  const { requests, costMicros } = summary;
  const changes = await warehouse.recordRun({
    ...{ job: staged.job, run: input.run, scheduled: input.scheduled ?? false, generation: staged.generation },
    ...{ startedAt: input.startedAt, endedAt: Date.now(), phase: stopped ? 'stopped' : 'done' },
    ...{ reason: stopped?.reason ?? null, message: stopped && sentenceOf(stopped) },
    ...rows,
    ...{ requests, costMicros, warnings: input.warnings },
  });
  const warehouseAfter = { ...counts, published: undefined, schemaChanges: changes.length > 0 ? changes : undefined };
  return { summary: { ...summary, warehouse: warehouseAfter }, unknown };
}

/** The facts from which a summary is made. */
interface Counted
  extends Pick<FinishInput, 'staged' | 'csv' | 'startedAt' | 'stopped'>,
    Partial<Pick<FinishInput, 'retried' | 'warnings'>> {
  readonly before: Pick<Spent, 'requests' | 'costMicros' | 'listMicros'>;
  readonly failed?: number;
  readonly counts: WarehouseSummary;
  readonly totals: JournalTotals;
}

/** Returns the summary of a job. The cost in the summary is the cost since `before`. */
export function summaryOf(counted: Counted): JobSummary {
  const { staged, csv, startedAt, stopped, before, failed, retried, warnings, counts, totals } = counted;
  return {
    job: staged.job,
    name: staged.name,
    phase: stopped ? 'stopped' : 'done',
    stoppedFor: stopped?.reason,
    message: stopped ? sentenceOf(stopped) : undefined,
    limit: staged.limit,
    into: staged.into,
    csv,
    warehouse: counts,
    requests: totals.requests - before.requests,
    failed,
    retried,
    warnings,
    costMicros: totals.costMicros - before.costMicros,
    estimateMicros: totals.listMicros - before.listMicros,
    totalCostMicros: totals.costMicros,
    unknownOutcomes: totals.unknown.length,
    seconds: (Date.now() - startedAt) / 1000,
  };
}
