import { randomUUID } from 'node:crypto';
import { CancelledFailure, Context } from '@temporalio/activity';
import type { StagedJob } from '../../core/job-entry-schemas.js';
import { type EndRunsInput, wantedRows } from '../../core/rows/job.js';
import { cancellation, heartbeatFrom } from '../base/cancellation.js';
import type { ActivityDeps } from '../base/deps.js';
import { toFailure } from '../call/failure.js';
import { mapConcurrent } from '../call/map-concurrent.js';
import type { Control } from '../purchase/purchase-request.js';
import { rowPurchase, unitsOf } from './enrich-slice.js';
import { sliceSegment } from './slice-loads.js';

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
