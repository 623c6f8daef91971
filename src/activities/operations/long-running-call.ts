import { CancelledFailure, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { transientTags } from '../../core/purchase/failure.js';
import type { UnitRecord } from '../../core/purchase/journal.js';
import { OverBudget } from '../../core/purchase/spend.js';
import type { RunOptions, RunRequest, RunSnapshot, RunStep } from '../../core/runs/agent-run.js';
import { cancellation, heartbeatFrom } from '../base/cancellation.js';
import type { ActivityDeps } from '../base/deps.js';
import { toFailure, waiting } from '../call/failure.js';
import type { PurchaseRequest } from '../purchase/purchase-request.js';
import { failUnlessSuccess, lonePurchase, MAX_INLINE_BYTES } from './buy.js';

/** Returns the purchase fields of one run. Answers that landed after the start of the run's workflow belong to the run. */
export function runOrderFields(
  { maxCostPerJobMicros = null }: Pick<ActivityDeps, 'maxCostPerJobMicros'>,
  { call, askedAt }: RunStep<unknown, RunOptions>,
) {
  const lone = lonePurchase({ maxCostDollars: call.maxCostDollars });
  return {
    ...lone,
    mostMicros:
      maxCostPerJobMicros === null
        ? lone.mostMicros
        : Math.min(maxCostPerJobMicros, lone.mostMicros ?? maxCostPerJobMicros),
    refused: 'throw' as const,
    freshness: {
      // A run that may already have been started is started again only if a person requests this.
      retryTags: transientTags.filter((tag) => tag !== 'UNKNOWN_OUTCOME'),
      retryBefore: askedAt,
      ...(call.refreshAfterMs === undefined ? {} : { freshAfter: askedAt - call.refreshAfterMs }),
    },
  };
}

/** How long one activity follows a long-running purchase. */
export interface LongRunningSlice {
  readonly sliceMs: number | undefined;
  /** The age of the run at which the activity ends, in ms. */
  readonly untilAgeMs?: number | undefined;
  snapshot(): RunSnapshot;
}

/**
 * Makes or follows one long-running purchase for one slice of time. If the run has landed, returns its record, otherwise a snapshot of the
 * run.
 */
export async function buyLongRunning(
  deps: ActivityDeps,
  purchaseRequest: PurchaseRequest,
  { sliceMs, untilAgeMs, snapshot }: LongRunningSlice,
): Promise<{ readonly record: UnitRecord } | { readonly record: null; readonly snapshot: RunSnapshot }> {
  const { cancellationSignal, info } = Context.current();
  let waitingFor: string | null = null;
  let age: NodeJS.Timeout | undefined;
  const current = (): RunSnapshot => ({ ...snapshot(), waitingFor });
  const control = cancellation({
    timeUpMs: sliceMs,
    progress: (progress) => {
      waitingFor = progress.waitingFor;
      const { startedAt } = snapshot();
      if (untilAgeMs !== undefined && startedAt !== null)
        age ??= setTimeout(control.timeIsUp, startedAt + untilAgeMs - Date.now());
    },
  });
  const heart = heartbeatFrom(current);
  try {
    const receipt = await deps.purchase(purchaseRequest, control);
    if (!receipt.complete) {
      if (cancellationSignal.aborted) throw new CancelledFailure('cancelled; runs in progress are ended next');
      if (receipt.waitMs > 0) throw waiting(receipt.waitMs, receipt.waitingFor);
      return { record: null, snapshot: current() };
    }
    const keys = purchaseRequest.units.map(({ key }) => key);
    const record = (await deps.journal.read(keys)).get(keys[0] as string);
    return record ? { record } : { record: null, snapshot: current() };
  } catch (error) {
    throw toFailure(reported(deps, error), info.attempt);
  } finally {
    clearTimeout(age);
    heart.stop();
    control.done();
  }
}

/** Returns the error to report. If the worker's own cap refused the request, the error names that cap. */
function reported({ maxCostPerJobMicros = null }: ActivityDeps, error: unknown): unknown {
  if (!(error instanceof OverBudget) || error.scope !== 'call' || error.capMicros !== maxCostPerJobMicros) return error;
  return new OverBudget('worker', error.capMicros, error.remainingMicros, error.openMicros, null);
}

/** Returns the record of a run that ended in any way. Throws if the run was refused, was lost or is gone. */
export function failUnlessEnded(record: UnitRecord): UnitRecord {
  const { error_tag: tag, operation } = record;
  if (tag === 'RUN_GONE') {
    const message = `${operation}: the service no longer returns the run; call it with { refreshAfterMs: 0 } to start another`;
    throw ApplicationFailure.create({
      type: 'NotFound',
      message,
      nonRetryable: true,
      details: [{ tag, key: record.key }],
    });
  }
  return tag?.startsWith('RUN_') ? record : failUnlessSuccess(record);
}

export function requestOf(
  { request_id: requestId, cost_micros: micros, fetched_at: at }: UnitRecord,
  askedAt: number,
): RunRequest {
  return { requestId, costDollars: micros / 1e6, bought: Date.parse(at) >= askedAt };
}

/** Returns the size in bytes of a value that is too large for a workflow; null if the value is small enough. */
export function tooLarge(value: unknown): number | null {
  const bytes = Buffer.byteLength(JSON.stringify(value) ?? '');
  return bytes > MAX_INLINE_BYTES ? bytes : null;
}
