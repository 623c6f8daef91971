import { randomUUID } from 'node:crypto';
import { CancelledFailure, Context, log } from '@temporalio/activity';
import type { StagedJob } from '../../core/job-entry-schemas.js';
import { Serial } from '../../core/processes/serial.js';
import { ENDED_WITH_JOB } from '../../core/purchase/journal.js';
import { sendOptions } from '../../core/purchase/sent-with.js';
import type { Freshness } from '../../core/row-job-schemas.js';
import { type EndRunsInput, newHeartbeat, type SliceInput, type SliceResult, wantedRows } from '../../core/rows/job.js';
import { signalNames } from '../../core/rows/job-names.js';
import { buysPages, isLongRunning, sharesAnswers } from '../../core/rows/row-operation.js';
import type { KnownAnswer, RowLoads } from '../../core/rows/row-warehouse.js';
import { type FoundNothing, PAGES_COUNT_AS, type RowsOfNothing } from '../../core/rows/stop-at-failed.js';
import { readUnits } from '../../rows/index.js';
import { cancellation, heartbeatFrom, SLICE_MS } from '../base/cancellation.js';
import type { ActivityDeps } from '../base/deps.js';
import { holding } from '../base/held.js';
import { toFailure, waiting } from '../call/failure.js';
import { mapConcurrent } from '../call/map-concurrent.js';
import type { AnyPurchase, Control, PurchaseRequest, Unit } from '../purchase/purchase-request.js';
import { agentPurchase } from './agent-purchase.js';
import { type ContentsOptions, contentsPurchase } from './contents-purchase.js';
import { emptyAnswers } from './empty-answers.js';
import { requestPurchase, rowRequests } from './row-requests.js';
import { loadFromJournal, sliceSegment, withSliceRows } from './slice-loads.js';

/**
 * The longest time in ms of a slice whose units are whole requests or runs. The time is longer than for URLs, because fewer units end in a
 * second.
 */
const WHOLE_REQUESTS_MS = 600_000;

/** The default time after which a run of a row is left running, in seconds. */
const USUAL_RUN_SECONDS = 6 * 3600;

/** The units that an activity buys, and what it does with their answers. */
export interface Piece {
  readonly units: readonly Unit[];
  /** Loads the answers, after all units have landed. Returns the number of loaded rows. */
  load(): Promise<{ readonly rows: number }>;
  /** The number of the first row with the unit. */
  rowOf(key: string): Promise<number | null>;
}

/** Calls `work` with the piece that an input names. `attempt`: token of this attempt. */
export type WithPiece<Input extends SliceInput> = (
  deps: ActivityDeps,
  input: Input & { readonly attempt: string },
  work: (piece: Piece) => Promise<SliceResult>,
) => Promise<SliceResult>;

/**
 * `enrichSlice`: buys the units that the warehouse lacks for one slice, then loads the slice and its ledger line in one transaction. See
 * {@link createPieceActivity}.
 */
export const createEnrichSlice = (deps: ActivityDeps) => createPieceActivity(deps, withSlice(new Serial()));

/** `reading`: slices that begin together are read in turn, so that the requests of the first do not wait for all others. */
const withSlice =
  (reading: Serial): WithPiece<SliceInput> =>
  (deps, { staged, slice, attempt, carried, freshness }, work) =>
    withSliceRows(deps, { staged, slice, attempt }, async ({ rowsFile, partial }) => {
      // If the warehouse had no rows of the job when the job was opened, all rows of this slice are wanted.
      const warehouse = deps.warehouseFor(staged);
      const wanted = carried ? new Set(await warehouse.pendingKeys(staged.job, rowsFile, freshness)) : null;
      const units = await reading.run(() => unitsOf(rowsFile, wanted));
      const keys = units.map((unit) => unit.key);
      return work({
        units,
        load: () => {
          // Several slices may wait for the warehouse: they keep only their keys.
          units.length = 0;
          return loadFromJournal(deps, staged, { slice, attempt, rowsFile, partial, keys, freshness });
        },
        rowOf: async (key) => (await readUnits(rowsFile)).find(({ k }) => k === key)?.n ?? null,
      });
    });

/**
 * Returns an activity that buys and loads the units of a piece. When the time is up, the activity ends with `complete: false`, and the next
 * call continues with the rest. Any number of attempts is safe, also concurrent ones.
 */
export function createPieceActivity<Input extends SliceInput>(deps: ActivityDeps, withPiece: WithPiece<Input>) {
  const noted = new Map<string, number>();
  /** Records the state of a job as running, once after each start and resume, because an earlier state may say that the job waits. */
  const noteRuns = async (staged: SliceInput['staged'], since = 0) => {
    if (noted.get(staged.job) === since) return;
    await deps.noteState(staged, { phase: 'running', since });
    noted.set(staged.job, since);
  };
  return async (asked: Input): Promise<SliceResult> => {
    const { attempt: nth } = Context.current().info;
    const { staged, beforeMicros } = await deps.staged(asked.staged).catch((error: unknown) => {
      throw toFailure(error, nth);
    });
    const input = { ...asked, staged };
    const { slice, freshness, resumedAt } = input;
    const attempt = randomUUID();
    const segment = sliceSegment(staged.job, staged.generation, slice);
    let state = newHeartbeat(slice);
    const control = cancellation({
      timeUpMs: buysPages(staged.operation) ? SLICE_MS : WHOLE_REQUESTS_MS,
      progress: (progress) => {
        state = { ...state, ...progress };
      },
    });
    const heart = heartbeatFrom(() => state);
    const keepHeld = holding(slice);
    try {
      await noteRuns(staged, resumedAt);
      const warehouse = deps.warehouseFor(staged);
      return await withPiece(deps, { ...input, attempt }, async ({ units, load, rowOf }) => {
        state = { ...state, units: units.length };
        const known = input.adopts
          ? async (wanting: readonly string[]) => adoptable(warehouse, staged.job, wanting, freshness)
          : undefined;
        const { maxRunSeconds = USUAL_RUN_SECONDS } = input;
        const purchaseRequest = rowPurchase(deps, staged, {
          segment,
          owner: attempt,
          units,
          freshness,
          known,
          resumedAt,
          startedAt: input.startedAt,
          ...capOf(deps, input, beforeMicros),
          failureStop: failureStopOf(input),
          maxRunMs: maxRunSeconds * 1000,
          rows: wantedRows(staged),
          recordsAll: asked.skipRefused,
          accepted: () => wasAccepted(deps, staged, freshness),
        });
        const receipt = await deps.purchase(purchaseRequest, control);
        const { nothing, warnings, leftRunning: _left, waitMs, waitingFor, ...counts } = receipt;
        const result = {
          ...counts,
          warnings: warnings?.length ? warnings : undefined,
          nothing: nothing && (await rowOfNothing(nothing, rowOf)),
        };
        if (!receipt.complete) {
          await keepHeld();
          // A cancelled slice (a pause, a cancel, the end of the worker) returns its counts. The rest of the slice is left to the next
          // attempt.
          const { aborted } = Context.current().cancellationSignal;
          const isStopped = counts.tooManyFailed || nothing || counts.stoppedBy;
          if (waitMs > 0 && !aborted && !isStopped) throw waiting(waitMs, waitingFor);
          return { ...result, complete: false, rows: 0 };
        }
        state = { ...state, landed: state.units, waitingFor: 'the warehouse' };
        const loaded = await load();
        await keepHeld();
        return { ...result, complete: true, rows: loaded.rows };
      });
    } catch (error) {
      await keepHeld();
      throw toFailure(error, nth);
    } finally {
      heart.stop();
      control.done();
    }
  };
}

/** Returns the lower one of the run's cap and the worker's cap. `beforeMicros`: from the worker's own records, never from the workflow. */
function capOf(
  { maxCostPerJobMicros: most = null }: Pick<ActivityDeps, 'maxCostPerJobMicros'>,
  { staged, limitMicros: own }: SliceInput,
  beforeMicros: number,
): Pick<PurchaseRequest, 'cap' | 'workerCapMicros'> {
  const cap = { bookPrefix: `${staged.job}/`, beforeMicros };
  const limitMicros = beforeMicros + (most ?? Number.POSITIVE_INFINITY);
  if (own !== undefined && own <= limitMicros) return { cap: { ...cap, limitMicros: own } };
  return most === null ? {} : { cap: { ...cap, limitMicros }, workerCapMicros: most };
}

function failureStopOf({
  staged,
  stopAtFailed,
  resumedAt,
  isProven,
  acceptWarnings,
}: SliceInput): PurchaseRequest['failureStop'] {
  const { rowsPerRun = 1 } = staged;
  const isContents = buysPages(staged.operation);
  return {
    ...{ job: staged.job, since: resumedAt },
    weight: isContents ? PAGES_COUNT_AS : Math.min(PAGES_COUNT_AS, rowsPerRun),
    unitWeight: isContents ? 1 : rowsPerRun,
    ...{ isProven, acceptWarnings, onProven: isProven === false ? () => void reportProven(resumedAt) : undefined },
    limit: stopAtFailed && { ...stopAtFailed, isEmpty: emptyAnswers(staged) },
  };
}

/** Tells the job that an answer is usable, so that its other slices begin. They begin after this slice if the signal is lost. */
async function reportProven(since: number): Promise<void> {
  const { client, info } = Context.current();
  const job = client.workflow.getHandle(info.workflowExecution?.workflowId ?? '');
  await job.signal(signalNames.proven, since).catch(() => undefined);
}

async function rowOfNothing({ key, ...nothing }: FoundNothing, rowOf: Piece['rowOf']): Promise<RowsOfNothing> {
  return { ...nothing, row: await rowOf(key) };
}

/** Returns answers from the warehouse, for units that the journal lacks. With `--rebuy`, returns no answers. */
async function adoptable(
  warehouse: RowLoads,
  job: string,
  keys: readonly string[],
  freshness: Freshness | undefined,
): Promise<readonly KnownAnswer[]> {
  if (freshness?.rebuyBefore !== undefined) return [];
  const answers = await warehouse.answers(keys, freshness);
  if (answers.length > 0)
    log.warn('The warehouse has answers that the journal lacks; they are not bought again', {
      job,
      answers: answers.length,
    });
  return answers;
}

/**
 * Returns the distinct units of a slice in the order of its rows. `wanted`: only these units (null: all). Rows after the limit do not
 * count.
 */
export async function unitsOf(
  rowsFile: string,
  wanted: Set<string> | null,
  lastRow = Number.POSITIVE_INFINITY,
): Promise<Unit[]> {
  const units: Unit[] = [];
  if (wanted?.size === 0) return units;
  const seen = new Set<string>();
  for (const { n, k, u } of await readUnits(rowsFile)) {
    if (n > lastRow) break;
    if (k === null || u === null || seen.has(k) || wanted?.has(k) === false) continue;
    seen.add(k);
    units.push({ key: k, unit: u });
  }
  return units;
}

/** Whether the service has accepted a request of this job with the same options: in this generation, or for rows of an earlier input. */
async function wasAccepted(deps: ActivityDeps, staged: StagedJob, freshness: Freshness | undefined): Promise<boolean> {
  const { job, generation } = staged;
  if ((await deps.journal.totals(`${job}/${generation}/`)).requests > 0) return true;
  const warehouse = deps.warehouseFor(staged);
  if ((await warehouse.loadedSlices(job, generation))?.length) return true;
  const { partial } = await warehouse.loadedRows(job, generation, freshness);
  return partial.length > 0;
}

type Deps = Pick<ActivityDeps, 'transport' | 'limiter' | 'timeoutMs' | 'prices' | 'origin' | 'sha256' | 'runs'>;

/** What the slice supplies. */
type SlicePurchase = AnyPurchase & {
  /** For agent runs: if set, nothing is started and runs in progress are cancelled. */
  readonly ending?: 'cancel';
  /** For runs: the age in ms after which a run is left running. */
  readonly maxRunMs?: number;
};

export function rowPurchase(
  deps: Deps,
  staged: StagedJob,
  { ending, maxRunMs, ...slice }: SlicePurchase,
): PurchaseRequest {
  const requests = rowRequests(deps, staged);
  const { operation, batch, options } = staged;
  const wire = sendOptions(staged);
  if (requests !== null) {
    const request = <I>({ unit }: Unit) => JSON.parse(requests.requestOf(unit)) as I;
    const ends = ending && { ending, cancelledTag: ENDED_WITH_JOB };
    if (isLongRunning(operation))
      return agentPurchase(deps, {
        ...slice,
        ...ends,
        maxRunMs,
        sharesAnswers: sharesAnswers(staged),
        refused: 'record',
        request,
        wire,
      });
    return requestPurchase(deps, requests, slice);
  }
  return contentsPurchase(deps, { ...slice, unitsPerRequest: batch, options: options as ContentsOptions, wire });
}

/** Number of slices that are handled at the same time. Most slices have no run in progress. */
const WIDTH = 8;

/** The least time in ms to end the runs of a slice. */
const LEAST_MS = 1500;

export interface EndedRuns {
  readonly runs: number;
  readonly costMicros: number;
  /** Number of runs that did not end in time and are left running. */
  readonly left: number;
}

/**
 * `endRuns`: cancels the agent runs in progress for slices of a job and lands their costs. The activity also cancels runs whose start got
 * no answer. Runs that do not end in time are left to the next run of the job. Runs that another job also requested are not cancelled. Any
 * number of attempts is safe.
 */
export function createEndRuns(deps: ActivityDeps) {
  return async function endRuns(input: EndRunsInput): Promise<EndedRuns> {
    const { staged: named, slices, freshness, resumedAt, withinMs } = input;
    const { cancellationSignal, info } = Context.current();
    const until = Date.now() + withinMs;
    const sums = { runs: 0, costMicros: 0, left: 0 };
    const heart = heartbeatFrom(() => sums);
    const end = async (staged: StagedJob, slice: number): Promise<void> => {
      // A slice that begins late still gets time to cancel its runs.
      const control = cancellation({ timeUpMs: Math.max(LEAST_MS, until - Date.now()) });
      try {
        await endIn(staged, slice, control);
      } finally {
        control.done();
      }
    };
    const endIn = async (staged: StagedJob, slice: number, control: Control): Promise<void> => {
      const units = await unitsOf(await deps.stages.slice(staged, slice), null, wantedRows(staged));
      const segment = sliceSegment(staged.job, staged.generation, slice);
      const wanted = { segment, owner: randomUUID(), units, freshness, resumedAt };
      const receipt = await deps.purchase(rowPurchase(deps, staged, { ...wanted, ending: 'cancel' }), control);
      sums.runs += receipt.requests;
      sums.costMicros += receipt.costMicros;
      sums.left += receipt.leftRunning;
      if (cancellationSignal.aborted) throw new CancelledFailure('stopped before all runs were ended');
    };
    try {
      const numbers = slices.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, nth) => from + nth));
      const { staged } = await deps.staged(named);
      await mapConcurrent(numbers, WIDTH, (slice) => end(staged, slice));
      return sums;
    } catch (error) {
      throw toFailure(error, info.attempt);
    } finally {
      heart.stop();
    }
  };
}
