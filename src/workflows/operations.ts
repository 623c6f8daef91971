import {
  type ActivityOptions,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
  sleep,
} from '@temporalio/workflow';
import type {
  Activities,
  CallOptions,
  OperationActivities,
  OperationResult,
  RequestShare,
} from '../activities/index.js';
import type { AgentRun, AgentRunRequest } from '../api/schemas/agent-run-schemas.js';

/**
 * How operations are called: any option of Temporal for activities, which wins over the default, and the options of a call. `receipts`: calls
 * return the answer with its costs.
 */
export interface OperationOptions<R extends boolean = boolean> extends ActivityOptions, CallOptions {
  readonly receipts?: R;
}

/** What a call cost. Amounts in dollars. */
export interface Receipt {
  readonly requests: readonly RequestShare[];
  /** The sum of what this call paid; estimates count where the service reports no cost. */
  readonly costDollars: number;
  /** Whether this call paid for a request, in any of its attempts. */
  readonly bought: boolean;
  /** Number of requests of this call without an answer, which may have been charged. */
  readonly unknownOutcomes: number;
}

type Answered<F> = F extends (input: infer I, call?: CallOptions) => Promise<OperationResult<infer O>> ? [I, O] : never;

type Operations = OperationActivities & Pick<Activities, 'getContents'>;

/** The operations as functions of workflow code: the request in, the answer of the service out. */
export type OperationCalls<R extends boolean> = {
  readonly [Name in keyof Operations]: (
    input: Answered<Operations[Name]>[0],
  ) => Promise<
    R extends true ? { readonly data: Answered<Operations[Name]>[1] } & Receipt : Answered<Operations[Name]>[1]
  >;
};

/**
 * An attempt sends one request, whose answer takes at most two minutes. Missing heartbeats show that a worker was killed. No limit of
 * attempts: waits count as attempts, and failures that no retry helps are not retried.
 */
const policy: ActivityOptions = {
  startToCloseTimeout: '3 minutes',
  heartbeatTimeout: '15 seconds',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
};

/**
 * Returns the operations of the service as functions for workflow code, with time limits, heartbeats and retries set:
 * `const { search, getContents, answer } = operations()`. A call rejects with Temporal's `ActivityFailure`, whose cause has the type of the
 * failure (`RateLimited`, `UnknownOutcome`, …). The worker needs `SearchflowPlugin`; it may be another worker (`taskQueue`).
 */
export function operations<R extends boolean = false>(options: OperationOptions<R> = {}): OperationCalls<R> {
  const { receipts = false, ...rest } = options;
  const { refreshAfterMs, maxCostDollars, maxInlineBytes, maxRebuys, beta, extraHeaders, unchecked, ...own } = rest;
  const call = { refreshAfterMs, maxCostDollars, maxInlineBytes, maxRebuys, beta, extraHeaders, unchecked };
  const given = JSON.parse(JSON.stringify(call)) as CallOptions;
  const callOf = (name: string) => async (input: object) => {
    const activities = proxyActivities<AnyActivities>({ ...policy, ...own, summary: own.summary ?? summaryOf(input) });
    const result = await (activities[name] as AnyActivity)(input, given);
    if ('landed' in result && !receipts) throw tooLarge(name, result);
    const { costDollars, requests, unknownOutcomes = 0 } = result;
    const receipt = { requests, costDollars, bought: requests.some(({ bought }) => bought), unknownOutcomes };
    return receipts ? { ...result, ...receipt } : 'data' in result && result.data;
  };
  // With a `then`, the object would be taken for a promise.
  const isCall = (name: string | symbol): name is string => typeof name === 'string' && name !== 'then';
  return new Proxy({} as OperationCalls<R>, { get: (_, name) => (isCall(name) ? callOf(name) : undefined) });
}

type AnyActivity = (input: object, call: CallOptions) => Promise<OperationResult<unknown>>;
type AnyActivities = Record<string, AnyActivity>;

const MOST_SUMMARY = 120;

/** What Temporal's UI shows beside a call: its query or its first URL. */
function summaryOf(input: object): string | undefined {
  const { query, urls, url, id, instructions } = input as Readonly<Record<string, unknown>>;
  const shown = query ?? (Array.isArray(urls) ? urls[0] : undefined) ?? url ?? id ?? instructions;
  return typeof shown === 'string' ? shown.slice(0, MOST_SUMMARY) : undefined;
}

function tooLarge(name: string, { bytes, landed }: { readonly bytes: number; readonly landed: readonly string[] }) {
  return ApplicationFailure.create({
    type: 'ResultTooLarge',
    message: `${name}: the answer has ${bytes} bytes. Ask for less, or read it by its reference: operations({ receipts: true })`,
    nonRetryable: true,
    details: [{ bytes, landed }],
  });
}

/** Seconds between polls of a run: each poll is an action of Temporal. */
const FIRST_POLL = 2;
const MOST_POLL = 60;

/**
 * Executes one agent run from its start to its end, and returns the run with any final status. A cancel of the workflow cancels the run. API
 * reference: /agent/runs.
 */
export async function runAgent(request: AgentRunRequest, options: OperationOptions<false> = {}): Promise<AgentRun> {
  const { createAgentRun, getAgentRun, cancelAgentRun } = operations(options);
  let run = (await createAgentRun(request)) as AgentRun;
  try {
    for (let seconds = FIRST_POLL; run.status === 'queued' || run.status === 'running'; seconds *= 1.5) {
      await sleep(Math.min(seconds, MOST_POLL) * 1000);
      run = (await getAgentRun({ id: run.id })) as AgentRun;
    }
    return run;
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(() => cancelAgentRun({ id: run.id }));
    throw error;
  }
}
