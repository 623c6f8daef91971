import { Context, log } from '@temporalio/activity';
import type { Freshness } from '../../core/purchase/journal.js';
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
import { SinkUnusable } from '../../core/rows/sink.js';
import type { ActivityDeps } from '../base/deps.js';
import { onlyFor } from '../base/monitor-warehouses.js';
import { withHeartbeat } from '../base/with-heartbeat.js';
import { jobRecord, loadLanded, loadMissing } from './slice-loads.js';

/** Requests answered and what they cost, in micro-dollars. */
export interface Spent {
  readonly requests: number;
  readonly costMicros: number;
  /** Their price by the price table. Absent where an older worker counted. */
  readonly listMicros?: number;
  /** The same with what is in flight or unknown, at the estimates: what a budget counts. Absent from the first version. */
  readonly committedMicros?: number;
  /** Absent from the first version. */
  readonly unknownOutcomes?: number;
}

/** What `openJob` answers: the slices that still have rows to load, and what was bought for the job in earlier runs. */
export interface OpenedJob {
  readonly slices: readonly number[];
  readonly before: Spent;
  /** The warehouse held rows of the job already: each slice asks it which of its own are missing. */
  readonly carried: boolean;
  /** The warehouse held answers already: each slice asks it for those that the journal lacks. Absent from the first version. */
  readonly adopts?: boolean;
  /** The job as its folder or store knows it. Absent from earlier versions. */
  readonly staged?: StagedJob;
  /** Where its CSV goes; absent from earlier versions. */
  readonly csv?: string | null;
}

/** A job that pauses, with nothing in flight. */
export interface PausedJob {
  readonly staged: StagedJob;
  /** Slices that the pause broke off. */
  readonly slices: readonly number[];
  readonly freshness?: Freshness;
  readonly why: Pause;
  /** Since when it is paused, Unix ms. */
  readonly since: number;
}

/** What `finishJob` is told. */
export interface FinishInput {
  readonly staged: StagedJob;
  readonly csv: string | null;
  readonly startedAt: number;
  /** What had been bought for the job before this run of it, which bought the rest; null: all of it. */
  readonly before: Spent | null;
  /** Id of the run; absent: nothing is written down of it. */
  readonly run?: string;
  readonly scheduled?: boolean;
  /** Why a scheduled run ends early; absent or null: it is through. */
  readonly stopped?: Pause | null;
  readonly freshness?: Freshness;
}

/** The activities around the slices of a row job. */
export function createJobActivities(deps: ActivityDeps) {
  return {
    /** `stageInput`: reads, checks and slices the input of a job that nobody staged yet. */
    async stageInput(input: EnrichCsvInput): Promise<{ readonly staged: StagedJob; readonly freshness?: Freshness }> {
      const { workflowExecution } = Context.current().info;
      return withHeartbeat(async () => {
        onlyFor(deps, input.origin);
        return deps.stage(input, workflowExecution?.workflowId ?? '');
      });
    },

    /** `openJob`: records the job in its warehouse and finds out which slices are to be loaded. */
    async openJob(input: {
      readonly staged: StagedName;
      readonly freshness?: Freshness;
      readonly csv?: string | null;
    }): Promise<OpenedJob> {
      const { freshness, csv = null } = input;
      return withHeartbeat(async () => {
        const stage = await deps.staged(input.staged);
        const { staged } = stage;
        const sink = deps.sinkFor(staged);
        const files: string[] = [];
        for (let slice = 0; slice < staged.slices; slice++) files.push(await deps.stages.slice(staged, slice));
        const before = await spentOn(deps, staged.job);
        const carried = await sink.holdsRows(staged.job);
        const adopts = await sink.holdsAnswers();
        const slices = await sink.openJob(jobRecord(staged), files, freshness);
        const wanted = wantedSlices(staged);
        return {
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
     * `jobSpent`: what was bought for a job so far, whoever bought it and however that ended. Of a job that pauses it also loads what
     * has landed, and writes down that the job waits.
     */
    async jobSpent({ job, paused }: { readonly job: string; readonly paused?: PausedJob }): Promise<Spent> {
      return withHeartbeat(async () => {
        if (paused) {
          const { slices, freshness, why, since } = paused;
          const { staged } = await deps.staged(paused.staged);
          // A pause must not wait for a warehouse: the rows are loaded later.
          await loadLanded(deps, staged, slices, freshness).catch((error: unknown) =>
            log.warn('What has landed is not loaded yet', { job, reason: String(error) }),
          );
          await deps.noteState(staged, { phase: 'paused', ...why, since });
        }
        return spentOn(deps, job);
      });
    },

    /** `finishJob`: loads what the warehouse has lost since it was loaded, writes down the unknown outcomes, the CSV where asked for, and sums the job up. */
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

/** Sums a job up from its warehouse and the journal; also records what is unknown, and exports. */
export async function summarize(
  deps: Pick<ActivityDeps, 'journal' | 'sinkFor'>,
  input: FinishInput,
): Promise<JobSummary> {
  const { staged, csv, stopped = null } = input;
  const sink = deps.sinkFor(staged);
  const totals = await deps.journal.totals(`${staged.job}/`);
  // By the journal, not by what the slices reported: a slice that was killed or refused bought something, too.
  const before = input.before ?? totals;
  await sink.recordUnknown(staged.job, totals.unknown);
  const warehouse = await sink.summary(staged.job);
  const written = csv === null ? null : await sink.exportCsv(staged.job, csv);
  const unasked = staged.rows - wantedRows(staged);
  const missing = Math.max(warehouse.missing, warehouse.rows - (written?.rows ?? warehouse.rows)) - unasked;
  if (input.run !== undefined && !stopped && missing > 0) {
    throw new SinkUnusable(
      `${missing} of the ${warehouse.rows} rows of ${staged.job} are no longer in its warehouse; run the same command again`,
    );
  }
  const bought = { requests: totals.requests - before.requests, costMicros: totals.costMicros - before.costMicros };
  const estimateMicros = before.listMicros === undefined ? null : totals.listMicros - before.listMicros;
  if (input.run !== undefined) {
    const { tags: _tags, ...rows } = warehouse;
    await sink.recordRun({
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
    warehouse,
    ...bought,
    ...(estimateMicros === null ? {} : { estimateMicros }),
    totalCostMicros: totals.costMicros,
    unknownOutcomes: totals.unknown.length,
    seconds: (Date.now() - input.startedAt) / 1000,
  };
}
