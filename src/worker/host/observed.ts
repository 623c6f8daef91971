import { Context, type Info } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory, CancelledFailure } from '@temporalio/common';
import type { Activities } from '../../activities/index.js';
import type { Transport } from '../../api/transport.js';
import type { Endpoint } from '../../api/wire/endpoint.js';
import { ApiError } from '../../api/wire/errors.js';
import { jobOfWorkflow } from '../../core/rows/job.js';

/** The ids of a running activity. `slice` or `window` is its part of the job. */
export interface ActivityIds {
  readonly job?: string;
  readonly workflowId?: string;
  readonly runId?: string;
  readonly slice?: number;
  readonly window?: number;
  readonly activity: string;
  readonly activityId: string;
  readonly attempt: number;
}

/** An answer with the id and the price that the service gave, each null if it gave none. */
export interface Answered {
  readonly requestId: string | null;
  readonly costMicros?: number | null;
}

/** Reports activities and requests. An observer calls each of them once and changes neither its result nor its failure. */
export interface Observer {
  activity?<T>(ids: ActivityIds, call: () => Promise<T>): Promise<T>;
  request?<T extends Answered>(endpoint: Endpoint<never, unknown>, call: () => Promise<T>): Promise<T>;
}

/** The transport with observers of its requests; the first observer is the outermost. */
export function observedTransport(transport: Transport, observers: readonly Observer[]): Transport {
  const observed = <T extends Answered>(endpoint: unknown, call: () => Promise<T>): Promise<T> =>
    observers.reduceRight(
      (inner, observer) => () => observer.request?.(endpoint as Endpoint<never, unknown>, inner) ?? inner(),
      call,
    )();
  return {
    ...transport,
    send: (endpoint, input, options) => observed(endpoint, () => transport.send(endpoint, input, options)),
    sendRawList: (endpoint, input, options) =>
      observed(endpoint, () => transport.sendRawList(endpoint, input, options)),
  };
}

/** The activities with observers; the first observer is the outermost. */
export function observedActivities(activities: Activities, observers: readonly Observer[]): Activities {
  const observed = (call: (...args: unknown[]) => Promise<unknown>) => {
    return (...args: unknown[]) => {
      const ids = idsOf(Context.current().info, args[0]);
      return observers.reduceRight(
        (inner, observer) => () => observer.activity?.(ids, inner) ?? inner(),
        () => call(...args),
      )();
    };
  };
  const all = Object.entries(activities) as [string, (...args: unknown[]) => Promise<unknown>][];
  return Object.fromEntries(all.map(([name, call]) => [name, observed(call)])) as unknown as Activities;
}

function idsOf({ workflowExecution, activityId, activityType, attempt }: Info, input: unknown): ActivityIds {
  const { slice, window } = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>;
  const { workflowId, runId } = workflowExecution ?? {};
  return {
    ...(workflowId === undefined ? {} : { job: jobOfWorkflow(workflowId), workflowId, runId }),
    ...(typeof slice === 'number' ? { slice } : {}),
    ...(typeof window === 'number' ? { window } : {}),
    ...{ activity: activityType, activityId, attempt },
  };
}

const counts = ['complete', 'rows', 'requests', 'bought', 'failed', 'costMicros', 'pages', 'events', 'added'] as const;

/** Counts of an activity's result. Other fields may hold values of rows or answers. */
export function countsOf(result: unknown): Readonly<Partial<Record<(typeof counts)[number], number | boolean>>> {
  if (typeof result !== 'object' || result === null) return {};
  const fields = result as Readonly<Record<string, unknown>>;
  const found = counts.filter((name) => typeof fields[name] === 'number' || typeof fields[name] === 'boolean');
  return Object.fromEntries(found.map((name) => [name, fields[name]]));
}

/** The type of an activity's failure, never its message. `isExpected`: the activity waits, or it was cancelled. */
export function failureOf(error: unknown): { readonly type: string; readonly isExpected: boolean } {
  if (!(error instanceof ApplicationFailure))
    return { type: error instanceof Error ? error.name : 'Error', isExpected: error instanceof CancelledFailure };
  return { type: error.type ?? error.name, isExpected: error.category === ApplicationFailureCategory.BENIGN };
}

/** The failure of a request; null if the request was refused before it was sent, so that there was none. */
export function failedRequest(error: unknown): ApiError | null {
  return error instanceof ApiError && error.facts.phase !== 'refused' ? error : null;
}
