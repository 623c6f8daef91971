import { Context, log } from '@temporalio/activity';
import type { Freshness } from '../../core/purchase/freshness.js';
import {
  type EnrichCsvInput,
  type JobSummary,
  type StagedJob,
  type StagedName,
  wantedRows,
  wantedSlices,
} from '../../core/rows/job.js';
import type { JobState } from '../../core/rows/job-entries.js';
import type { Pause } from '../../core/rows/pause.js';
import { type LoadedRows, WarehouseUnusable } from '../../core/rows/row-warehouse.js';
import type { ActivityDeps } from '../base/deps.js';
import { onlyFor } from '../base/monitor-warehouses.js';
import { withHeartbeat } from '../base/with-heartbeat.js';
import { jobRecord, loadLanded, loadMissing } from './slice-loads.js';

/** Answered requests and their cost, in micro-dollars. */
export interface Spent {
  readonly requests: number;
  readonly costMicros: number;
  /** Their price by the price table. Absent from older workers. */
  readonly listMicros?: number;
  /** The cost with requests in flight and unknown outcomes at their estimates: the amount that counts against a budget. Absent in the first version. */
  readonly committedMicros?: number;
  /** Absent in the first version. */
  readonly unknownOutcomes?: number;
}

/** Result of `openJob`: the slices that still have rows to load, and the purchases of earlier runs of the job. */
export interface OpenedJob {
  readonly slices: readonly number[];
  readonly before: Spent;
  /** The warehouse held rows of the job already: each slice asks it which of its rows are missing. */
  readonly carried: boolean;
  /** The warehouse held answers already: each slice asks it for answers that the journal lacks. Absent in the first version. */
  readonly adopts?: boolean;
  /** Absent where no row is loaded, and from older workers. */
  readonly loaded?: LoadedRows;
  /** The job as its folder or store has it. Absent in earlier versions. */
  readonly staged?: StagedJob;
  /** The path of its CSV; absent in earlier versions. */
  readonly csv?: string | null;
}

/** Result of `jobSpent`. */
export interface SpentSoFar extends Spent {
  /** For a job that pauses; absent where its warehouse can't be read now, and from older workers. */
  readonly loaded?: LoadedRows;
}

/** A job that pauses, with no request in flight. */
export interface PausedJob {
  readonly staged: StagedJob;
  /** Slices that the pause interrupted. */
  readonly slices: readonly number[];
  readonly freshness?: Freshness;
  readonly why: Pause;
  /** The beginning of the pause, in Unix ms. */
  readonly since: number;
}

/** Input of `finishJob`. */
export interface FinishInput {
  readonly staged: StagedJob;
  readonly csv: string | null;
  readonly startedAt: number;
  /** Purchases for the job before this run; null: none, all of them belong to this run. */
  readonly before: Spent | null;
  /** Id of the run; absent: the run is not recorded. */
  readonly run?: string;
  readonly scheduled?: boolean;
  /** Why a scheduled run ends early; absent or null: the run is complete. */
  readonly stopped?: Pause | null;
  readonly freshness?: Freshness;
}

/** The activities around the slices of a row job. */
export function createJobActivities(deps: ActivityDeps) {
  return {
    /** `stageInput`: reads, checks and slices the input of a job that is not staged yet. */
    async stageInput(input: EnrichCsvInput): Promise<{ readonly staged: StagedJob; readonly freshness?: Freshness }> {
      const { workflowExecution } = Context.current().info;
      return withHeartbeat(async () => {
        onlyFor(deps, input.origin);
        return deps.stage(input, workflowExecution?.workflowId ?? '');
      });
    },

    /** `openJob`: records the job in its warehouse and returns the slices to load. */
    async openJob(input: {
      readonly staged: StagedName;
      readonly freshness?: Freshness;
      readonly csv?: string | null;
    }): Promise<OpenedJob> {
      const { freshness, csv = null } = input;
      return withHeartbeat(async () => {
        const stage = await deps.staged(input.staged);
        const { staged } = stage;
        const warehouse = deps.warehouseFor(staged);
        const files: string[] = [];
        for (let slice = 0; slice < staged.slices; slice++) files.push(await deps.stages.slice(staged, slice));
        const before = await spentOn(deps, staged.job);
        const carried = await warehouse.holdsRows(staged.job);
        const adopts = await warehouse.holdsAnswers();
        const slices = await warehouse.openJob(jobRecord(staged), files, freshness);
        const wanted = wantedSlices(staged);
        const loaded = carried ? await warehouse.loadedRows(staged.job, staged.generation, freshness) : undefined;
        return {
          ...(loaded ? { loaded } : {}),
          slices: slices.filter((slice) => slice < wanted),
          carried,
          before,
          adopts,
          staged,
          csv: csv && stage.csv,
        };
      });
    },

    /**
     * `jobSpent`: returns all purchases for a job so far, in any run and with any outcome. For a job that pauses it also loads landed
     * answers, counts what is loaded then, and records the pause.
     */
    async jobSpent({ job, paused }: { readonly job: string; readonly paused?: PausedJob }): Promise<SpentSoFar> {
      return withHeartbeat(async () => {
        if (!paused) return spentOn(deps, job);
        const { slices, freshness, why, since } = paused;
        const { staged } = await deps.staged(paused.staged);
        // A pause does not wait for a warehouse: the rows are loaded later.
        await loadLanded(deps, staged, slices, freshness).catch((error: unknown) =>
          log.warn('Landed answers are not loaded yet', { job, reason: String(error) }),
        );
        const loaded = await deps
          .warehouseFor(staged)
          .loadedRows(job, staged.generation, freshness)
          .catch(() => undefined);
        await deps.noteState(staged, { phase: 'paused', ...why, since });
        return { ...(await spentOn(deps, job)), ...(loaded ? { loaded } : {}) };
      });
    },

    /** `finishJob`: loads rows that the warehouse has lost, records unknown outcomes, writes the CSV where asked for, and sums the job up. */
    async finishJob(input: FinishInput): Promise<JobSummary> {
      return withHeartbeat(async () => {
        const { stopped, freshness, csv } = input;
        const stage = await deps.staged(input.staged);
        const { staged } = stage;
        if (!stopped) await loadMissing(deps, staged, freshness);
        const summary = await summarize(deps, { ...input, staged, csv: csv && (await deps.csvOf(stage, csv)) });
        const end = stopped ? { phase: 'stopped', ...stopped } : { phase: 'done' };
        await deps.noteState(staged, { ...end, since: Date.now() } as JobState);
        return summary;
      });
    },
  };
}

async function spentOn({ journal }: Pick<ActivityDeps, 'journal'>, job: string): Promise<Required<Spent>> {
  const { requests, costMicros, listMicros, openMicros, unknown } = await journal.totals(`${job}/`);
  const committedMicros = unknown.reduce((sum, one) => sum + one.estimateMicros, costMicros + openMicros);
  return { requests, costMicros, listMicros, committedMicros, unknownOutcomes: unknown.length };
}

/** Sums a job up from its warehouse and the journal; also records unknown outcomes and exports. */
export async function summarize(
  deps: Pick<ActivityDeps, 'journal' | 'warehouseFor'>,
  input: FinishInput,
): Promise<JobSummary> {
  const { staged, csv, stopped = null } = input;
  const warehouse = deps.warehouseFor(staged);
  const totals = await deps.journal.totals(`${staged.job}/`);
  // Counted from the journal: killed and refused slices report nothing, but may have bought something.
  const before = input.before ?? totals;
  await warehouse.recordUnknown(staged.job, totals.unknown);
  const counts = await warehouse.summary(staged.job);
  const written = csv === null ? null : await warehouse.exportCsv(staged.job, csv);
  const unasked = staged.rows - wantedRows(staged);
  const missing = Math.max(counts.missing, counts.rows - (written?.rows ?? counts.rows)) - unasked;
  if (input.run !== undefined && !stopped && missing > 0) {
    throw new WarehouseUnusable(
      `${missing} of the ${counts.rows} rows of ${staged.job} are no longer in its warehouse; run the same command again`,
    );
  }
  const bought = { requests: totals.requests - before.requests, costMicros: totals.costMicros - before.costMicros };
  const estimateMicros = before.listMicros === undefined ? null : totals.listMicros - before.listMicros;
  if (input.run !== undefined) {
    const { tags: _tags, ...rows } = counts;
    await warehouse.recordRun({
      ...{ job: staged.job, run: input.run, scheduled: input.scheduled ?? false, generation: staged.generation },
      ...{ startedAt: input.startedAt, endedAt: Date.now(), phase: stopped ? 'stopped' : 'done' },
      ...{ reason: stopped?.reason ?? null, message: stopped?.message ?? null },
      ...rows,
      ...bought,
    });
  }
  return {
    job: staged.job,
    name: staged.name,
    phase: stopped ? 'stopped' : 'done',
    ...(stopped ? { stoppedFor: stopped.reason, message: stopped.message } : {}),
    ...(staged.limit === undefined ? {} : { limit: staged.limit }),
    into: staged.into,
    csv,
    warehouse: counts,
    ...bought,
    ...(estimateMicros === null ? {} : { estimateMicros }),
    totalCostMicros: totals.costMicros,
    unknownOutcomes: totals.unknown.length,
    seconds: (Date.now() - input.startedAt) / 1000,
  };
}
