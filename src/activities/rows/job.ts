import { randomUUID } from 'node:crypto';
import { Context, log } from '@temporalio/activity';
import { type AlertRun, endOfRows, pauseOfRun, unknownOfRun } from '../../core/alerts/job-alerts.js';
import type { JobState, StagedJob } from '../../core/job-entry-schemas.js';
import { type RetryFreshness, retryRuleOf } from '../../core/purchase/freshness.js';
import type { JournalTotals } from '../../core/purchase/journal.js';
import type {
  EnrichCsvInput,
  Freshness,
  JobSummary,
  PublishOutcome,
  PublishStep,
  StagedName,
} from '../../core/row-job-schemas.js';
import { type RetryRowsInput, wantedRows, wantedSlices } from '../../core/rows/job.js';
import { type Failure, type Pause, pauseOf, spentOf } from '../../core/rows/pause.js';
import { isLongRunning } from '../../core/rows/row-operation.js';
import { jobRecord, type LoadedRows, type RetryPass, type RetryUnit } from '../../core/rows/row-warehouse.js';
import { WarehouseBusy, WarehouseUnusable } from '../../core/rows/warehouse-errors.js';
import type { ActivityDeps } from '../base/deps.js';
import { type First, onlyForServed } from '../base/monitor-warehouses.js';
import { withHeartbeat } from '../base/with-heartbeat.js';
import type { Unit } from '../purchase/purchase-request.js';
import { createPieceActivity, unitsOf, type WithPiece } from './enrich-slice.js';
import { keysOfJob } from './row-requests.js';
import { loadLanded, loadMissing, withUnitFiles } from './slice-loads.js';
import { type FinishInput, type Spent, summarize } from './summarize.js';

/** Result of `openJob`: the slices that still have rows to load, and the purchases of earlier runs of the job. */
export interface OpenedJob {
  readonly slices: readonly number[];
  readonly before: Spent;
  /** Whether the warehouse already had rows of the job. If so, each slice reads from the warehouse which rows of the slice are missing. */
  readonly carried: boolean;
  /**
   * Whether the warehouse already had answers. If so, each slice takes answers that the journal lacks from the warehouse.
   */
  readonly adopts: boolean;
  /** Whether several processes may run the slices. */
  readonly isShared: boolean;
  /** Counts of loaded rows. Absent if no row is loaded. */
  readonly loaded?: LoadedRows;
  readonly staged: StagedJob;
  readonly csv: string | null;
}

/** Result of `jobSpent`. */
export interface SpentSoFar extends Spent {
  /** Counts of loaded rows, only for a job that pauses. Absent if the warehouse cannot be read now. */
  readonly loaded?: LoadedRows;
}

/** Input of `openRetry`. */
export interface RetryInput {
  readonly staged: StagedName;
  /** See `EnrichCsvInput.redrive`. */
  readonly redrive: boolean;
}

/** Result of `openRetry`. */
export interface OpenedRetry extends RetryPass {
  /**
   * The number of slices whose failed units are one piece of the second pass; then `slices` has the first slice of each piece. Absent: each
   * slice is loaded again.
   */
  readonly slicesPerPiece?: number;
}

/** A job that pauses, with no request in flight. */
export interface PausedJob {
  readonly staged: StagedJob;
  /** Slices that the pause interrupted. */
  readonly slices: readonly number[];
  readonly freshness?: RetryFreshness;
  readonly why: Pause;
  /** The beginning of the pause, in Unix ms. */
  readonly since: number;
  /** Id of the run. Absent: the pause is not reported by an alert. */
  readonly run?: string;
  /** Whether the run ends, because it waits for no person: its end is reported, not the pause. */
  readonly ends?: boolean;
  /** The facts from which the exact reason is made, because `why` was made before the costs were summed up. Null: `why` is exact. */
  readonly cause?: {
    readonly failure: Failure;
    readonly before: Spent;
    readonly resumable: string | null;
    readonly maxCostMicros: number | null;
  } | null;
}

/** Input of `jobSpent`. */
export interface SpentInput {
  readonly job: string;
  /** Start of the run of the job, in Unix ms. */
  readonly startedAt: number;
  readonly paused?: PausedJob | null | undefined;
}

/** Time in ms after which a publish no longer waits for a busy target or warehouse. */
const MOST_PUBLISH_MS = 3_600_000;

/** Input of `publishJob`. */
export interface PublishInput {
  readonly staged: StagedName;
  readonly step: PublishStep;
  /** Id of the run whose record gets the outcome. */
  readonly run: string;
  /** The end of the run, for its alert. Absent: there is no alert. */
  readonly ended?: Pick<JobSummary, 'phase' | 'requests' | 'costMicros' | 'seconds'> & { readonly scheduled: boolean };
}

/** The activities of a row job, except the activities that buy slices or end runs. */
export function createJobActivities(deps: ActivityDeps) {
  return {
    /** `stageInput`: reads, checks and slices the input of a job that is not staged yet. */
    async stageInput(
      asked: First<EnrichCsvInput> & { readonly schedule?: string },
    ): Promise<{ readonly staged: StagedJob; readonly freshness?: Freshness }> {
      const { info, cancellationSignal: signal } = Context.current();
      return withHeartbeat(async () => {
        await onlyForServed(deps, asked);
        const { startedBy: _startedBy, schedule, ...input } = asked;
        return deps.stage(input, { workflowId: info.workflowExecution?.workflowId ?? '', schedule, signal });
      });
    },

    /** `openJob`: records the job in its warehouse and returns the slices to load. */
    async openJob(input: {
      readonly staged: StagedName;
      readonly freshness?: Freshness;
      readonly csv?: string | null;
      readonly publish?: PublishStep;
    }): Promise<OpenedJob> {
      const { freshness, csv = null, publish } = input;
      return withHeartbeat(async () => {
        const stage = await deps.staged(input.staged);
        const { staged } = stage;
        if (publish) await deps.publishing.check(publish, staged);
        const warehouse = deps.warehouseFor(staged);
        const files: string[] = [];
        for (let slice = 0; slice < staged.slices; slice++) files.push(await deps.stages.slice(staged, slice));
        const before = spentOn(await deps.journal.totals(`${staged.job}/`));
        const run = Context.current().info.workflowExecution?.runId ?? '';
        await deps.noteOpened(staged.job, { run, beforeMicros: before.committedMicros });
        const carried = await warehouse.holdsRows(staged.job);
        const adopts = await warehouse.holdsAnswers();
        const slices = await warehouse.openJob(jobRecord(staged), files, freshness);
        const wanted = wantedSlices(staged);
        const loaded = carried ? await warehouse.loadedRows(staged.job, staged.generation, freshness) : undefined;
        return {
          loaded,
          slices: slices.filter((slice) => slice < wanted),
          carried,
          before,
          adopts,
          isShared: deps.isShared,
          staged,
          csv: csv && stage.csv,
        };
      });
    },

    /**
     * `jobSpent`: sums up all purchases for a job so far, in any run and with any outcome. For a job that pauses, also loads landed
     * answers, counts the loaded rows and records the pause with these counts.
     */
    async jobSpent({ job, startedAt, paused }: SpentInput): Promise<SpentSoFar> {
      return withHeartbeat(async () => {
        const totals = () => deps.journal.totals(`${job}/`, startedAt);
        if (!paused) return spentOn(await totals());
        const { slices, freshness, why, since, cause, run, ends = false } = paused;
        const { staged } = await deps.staged(paused.staged);
        // A pause does not wait for a warehouse. If the load fails, the rows are loaded later.
        const load = () =>
          freshness?.onlyMarked && retriedBy(staged) === 'unit'
            ? loadLandedRetries(deps, staged, freshness)
            : loadLanded(deps, staged, slices, freshness);
        await load().catch((error: unknown) =>
          log.warn('Landed answers are not loaded yet', { job, reason: String(error) }),
        );
        const warehouse = deps.warehouseFor(staged);
        const loaded = await warehouse.loadedRows(job, staged.generation, freshness).catch(() => undefined);
        const counts = loaded && (await warehouse.summary(job).catch(() => undefined));
        const sums = await totals();
        const spent = spentOn(sums);
        const exact = cause ? exactPause(staged.operation, cause, spent) : null;
        const about = run === undefined || ends ? null : aboutRun(staged, run, false);
        if (about)
          await deps.alerts.note([
            pauseOfRun(about, exact ?? why, since),
            ...unknownOfRun(about, sums.unknown, startedAt),
          ]);
        await deps.noteState(staged, { phase: 'paused', ...(exact ?? why), since, counts });
        return { ...spent, loaded };
      });
    },

    /**
     * `openRetry`: returns the failed rows that the run buys once more before its end; null without such rows. Any number of attempts is
     * safe.
     */
    async openRetry({ staged: named, redrive }: RetryInput): Promise<OpenedRetry | null> {
      return withHeartbeat(async () => {
        const { staged } = await deps.staged(named);
        const by = retriedBy(staged);
        const pass = await deps.warehouseFor(staged).openRetry(staged.job, retryRuleOf(redrive), by);
        const wanted = wantedSlices(staged);
        const slices = pass?.slices.filter((slice) => slice < wanted) ?? [];
        if (pass === null || slices.length === 0) return null;
        if (by === 'slice') return { ...pass, slices };
        const size = slicesPerPiece(slices.length, pass.units);
        const firsts = slices.map((slice) => Math.floor(slice / size) * size);
        return { ...pass, slices: [...new Set(firsts)], slicesPerPiece: size };
      });
    },

    /**
     * `finishJob`: loads rows that the warehouse has lost, records unknown outcomes, writes the CSV if a CSV is requested, and returns the
     * summary of the job.
     */
    async finishJob(input: FinishInput): Promise<JobSummary> {
      return withHeartbeat(async () => {
        const { stopped, freshness, csv } = input;
        const stage = await deps.staged(input.staged);
        const { staged } = stage;
        if (!stopped) await loadMissing(deps, staged, freshness);
        const csvFile = csv && (await deps.csvOf(stage, csv));
        const { summary, unknown } = await summarize(deps, { ...input, staged, csv: csvFile });
        const { run, scheduled = false, publishes = false, startedAt } = input;
        const about = run === undefined ? null : aboutRun(staged, run, scheduled);
        if (about)
          await deps.alerts.note([
            ...(publishes && !stopped ? [] : [endOfRows(about, summary, stopped ?? null)]),
            ...unknownOfRun(about, unknown, startedAt),
          ]);
        const end = stopped ? { phase: 'stopped', ...stopped } : { phase: 'done' };
        const { requests, costMicros, estimateMicros, seconds } = summary;
        const ended = { since: Date.now(), counts: summary.warehouse };
        // A call without a run only counts the rows of a job that is complete.
        const figures = about ? { run: { requests, costMicros, estimateMicros, seconds } } : {};
        await deps.noteState(staged, { ...end, ...ended, ...figures } as JobState);
        return summary;
      });
    },

    /**
     * `publishJob`: publishes the view of a job after its run, and adds the outcome to the record of the run. A failure that a person must fix
     * is an outcome, too, because the rows are loaded. Any number of attempts is safe.
     */
    async publishJob({ run, step, ended, ...input }: PublishInput): Promise<PublishOutcome> {
      const { scheduledTimestampMs } = Context.current().info;
      return withHeartbeat(async () => {
        const { staged } = await deps.staged(input.staged);
        await deps.publishing.check(step, staged);
        const isLate = Date.now() - scheduledTimestampMs > MOST_PUBLISH_MS;
        const outcome = await deps.publishing
          .publish(staged, step)
          .then(({ id, changed, tables }) => ({
            ...{ to: step.to, error: null, publish: id, changed },
            rows: tables.reduce((sum, { rows }) => sum + rows, 0),
          }))
          .catch((error: unknown) => {
            if (!(error instanceof WarehouseUnusable || (isLate && error instanceof WarehouseBusy))) throw error;
            return { to: step.to, error: error.message, publish: null, rows: 0, changed: false };
          });
        const warehouse = deps.warehouseFor(staged);
        await warehouse.recordPublish(staged.job, run, outcome);
        const counts = await warehouse.summary(staged.job);
        if (ended)
          await deps.alerts.note([
            endOfRows(aboutRun(staged, run, ended.scheduled), { ...ended, warehouse: counts }, null, outcome),
          ]);
        await deps.noteState(staged, { phase: 'done', since: Date.now(), counts });
        return outcome;
      });
    },
  };
}

/** How failed rows are loaded in the second pass. The runs of an interrupted slice are found by the rows of the slice. */
const retriedBy = ({ operation }: StagedJob) => (isLongRunning(operation) ? 'slice' : 'unit');

function exactPause(
  operation: string,
  { failure, before, resumable, maxCostMicros }: NonNullable<PausedJob['cause']>,
  spent: Spent,
): Pause | null {
  return pauseOf(failure, resumable, maxCostMicros, spentOf(operation, before, spent));
}

const aboutRun = ({ job, origin }: StagedJob, run: string, scheduled: boolean): AlertRun => ({
  ...{ job, kind: 'rows', run, origin, scheduled },
});

function spentOn(totals: JournalTotals): Spent {
  const { requests, costMicros, listMicros, openMicros, openSinceMicros, unknown } = totals;
  const unknownMicros = unknown.reduce((sum, one) => sum + one.estimateMicros, 0);
  const committedMicros = costMicros + openMicros + unknownMicros;
  const amounts = { costMicros, listMicros, openMicros, openSinceMicros, committedMicros };
  return { requests, ...amounts, unknownOutcomes: unknown.length };
}

/** About so many units are bought in one piece of the second pass. Their answers of usual size are loaded in one transaction. */
const UNITS_PER_PIECE = 1000;

/** Returns the number of slices whose failed units are one piece. */
const slicesPerPiece = (slices: number, units: number): number =>
  Math.max(1, Math.floor((UNITS_PER_PIECE * slices) / Math.max(1, units)));

/**
 * `retryRows`: buys the failed units of some slices once more, and replaces the answers of their rows. A slice has few such rows, so it is not
 * staged and loaded again. See {@link createPieceActivity}.
 */
export const createRetryRows = (deps: ActivityDeps) => createPieceActivity(deps, withFailedUnits);

const withFailedUnits: WithPiece<RetryRowsInput> = async (deps, { staged, slice, to, attempt }, work) => {
  const all = await deps.warehouseFor(staged).retryUnits(staged.job, { from: slice, to });
  const found = all.filter(({ row }) => row <= wantedRows(staged));
  const keys = found.map(({ key }) => key);
  return work({
    units: await originalUnits(deps, staged, found),
    load: () => loadUnits(deps, staged, { slice, attempt, keys }),
    rowOf: async (key) => found.find((unit) => unit.key === key)?.row ?? null,
  });
};

/** Loads the landed answers of the second pass while a job is paused. Buys nothing. */
async function loadLandedRetries(
  deps: ActivityDeps,
  staged: StagedJob,
  freshness: RetryFreshness | undefined,
): Promise<void> {
  const { job, slices } = staged;
  const found = await deps.warehouseFor(staged).retryUnits(job, { from: 0, to: slices });
  const landed = await deps.journal.lookup(
    found.map(({ key }) => key),
    freshness,
  );
  const keys = landed.map(({ key }) => key);
  for (let at = 0; at < keys.length; at += UNITS_PER_PIECE)
    await loadUnits(deps, staged, { slice: 0, attempt: randomUUID(), keys: keys.slice(at, at + UNITS_PER_PIECE) });
}

async function loadUnits(
  deps: ActivityDeps,
  staged: StagedJob,
  of: { readonly slice: number; readonly attempt: string; readonly keys: readonly string[] },
): Promise<{ readonly rows: number }> {
  const { keys } = of;
  if (keys.length === 0) return { rows: 0 };
  const { job, generation } = staged;
  return withUnitFiles(deps, staged, of, (unitFiles) =>
    deps.warehouseFor(staged).loadRetry({ job, generation, unitFiles, keys }),
  );
}

/** The units as they were staged. A database may hold a text in another form; then the unit is read from its staged slice. */
async function originalUnits(deps: ActivityDeps, staged: StagedJob, found: readonly RetryUnit[]): Promise<Unit[]> {
  const keyOf = keysOfJob(deps, staged);
  const changed = found.filter(({ key, unit }) => keyOf(unit) !== key);
  const originals = new Map<string, Unit>();
  for (const slice of new Set(changed.map((unit) => unit.slice))) {
    const wanted = new Set(changed.filter((unit) => unit.slice === slice).map(({ key }) => key));
    for (const unit of await unitsOf(await deps.stages.slice(staged, slice), wanted)) originals.set(unit.key, unit);
  }
  return found.map(({ key, unit }) => originals.get(key) ?? { key, unit });
}
