import {
  type ActivityOptions,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
  sleep,
} from '@temporalio/workflow';
import type { Activities, CallOptions, OperationResult, RequestShare } from '../activities/types.js';
import type { AgentRun, AgentRunRequest } from '../api/schemas/agent-run-schemas.js';
import { generatedNames } from '../core/generated-names.js';
import { misspelt } from '../core/text/nearest.js';
import { callPolicy } from './shared/policies.js';

export type { EnrichedRows, EnrichRowsInput, RowResult, RowsSummary } from '../core/enrich-rows-schemas.js';
export { type EnrichRowsOptions, enrichAllRows as enrichRows } from './rows/enrich-rows.js';

/**
 * How operations are called: any option of Temporal for activities, which wins over the default, and the options of a call. `receipts`: calls
 * return the answer with its costs.
 */
export interface OperationOptions<R extends boolean = boolean> extends ActivityOptions, CallOptions {
  readonly receipts?: R;
  /** Most calls of these operations that are scheduled at once in one workflow; further calls wait in the workflow. Default: 50. */
  readonly concurrency?: number;
}

/** What a call cost. Amounts in dollars. */
export interface CallReceipt {
  readonly requests: readonly RequestShare[];
  /** The sum of what this call paid; estimates count where the service reports no cost. */
  readonly costDollars: number;
  /** Whether this call paid for a request, in any of its attempts. */
  readonly bought: boolean;
  /** Number of requests of this call without an answer, which may have been charged. */
  readonly unknownOutcomes: number;
}

type Answered<F> = F extends (input: infer I, call?: CallOptions) => Promise<OperationResult<infer O>> ? [I, O] : never;

/** An answer; or the reference of one above `maxInlineBytes`, which `readAnswer({ landed })` reads. Only a worker with a record returns one. */
type Received<O> =
  | { readonly data: O; readonly landed?: undefined }
  | { readonly data?: undefined; readonly landed: readonly string[]; readonly bytes: number; readonly preview: string };

/** The operations as functions of workflow code: the request in, the answer of the service out. */
export type OperationCalls<R extends boolean> = {
  readonly [Name in keyof Activities]: (
    input: Answered<Activities[Name]>[0],
  ) => Promise<R extends true ? Received<Answered<Activities[Name]>[1]> & CallReceipt : Answered<Activities[Name]>[1]>;
};

/**
 * Returns the operations of the service as functions for workflow code, with time limits, heartbeats and retries set:
 * `const { search, getContents, answer } = operations()`. A call rejects with Temporal's `ActivityFailure`, whose cause has the type of the
 * failure (`RateLimited`, `UnknownOutcome`, …). The worker needs `SearchflowPlugin`; it may be another worker (`taskQueue`).
 */
export function operations<R extends boolean = false>(options: OperationOptions<R> = {}): OperationCalls<R> {
  const { receipts = false, concurrency = USUAL_CONCURRENCY, ...rest } = options;
  const known = [...callNames, ...temporalNames, 'receipts', 'concurrency'];
  const wrong = Object.keys(options).flatMap((name) => {
    const meant = misspelt(name, known);
    const help = meant === null ? `; its options are ${known.join(', ')}.` : `; did you mean ${meant}?`;
    return known.includes(name) ? [] : [`${name} is not an option of operations()${help}`];
  });
  if (!Number.isInteger(concurrency) || concurrency < 1)
    wrong.push(`concurrency must be a whole number from 1 (got ${concurrency})`);
  if (wrong.length > 0) throw ApplicationFailure.nonRetryable(wrong.join(' '), 'InvalidRequest');
  const places = new Places(concurrency);
  const isOfCall = ([name]: [string, unknown]) => callNames.includes(name);
  const given: CallOptions = Object.fromEntries(Object.entries(rest).filter(isOfCall));
  const own: ActivityOptions = Object.fromEntries(Object.entries(rest).filter((entry) => !isOfCall(entry)));
  const callOf = (name: string) => async (input: object) => {
    const activities = proxyActivities<AnyActivities>({
      ...callPolicy,
      ...own,
      summary: own.summary ?? summaryOf(input),
    });
    const result = await places.hold(() => (activities[name] as AnyActivity)(input, given));
    if ('landed' in result && !receipts) throw tooLarge(name, result);
    const { costDollars, requests, unknownOutcomes = 0 } = result;
    const receipt = { requests, costDollars, bought: requests.some(({ bought }) => bought), unknownOutcomes };
    return receipts ? { ...result, ...receipt } : 'data' in result && result.data;
  };
  return Object.fromEntries(operationNames.map((name) => [name, callOf(name)])) as unknown as OperationCalls<R>;
}

/** The operations, as in the table of the service, and `readAnswer`. */
const operationNames = [...generatedNames.operations.split(' '), 'readAnswer'];

/** The options that go with each call; the others, except those of `operations()`, are Temporal's. */
const callNames = generatedNames.callOptions.split(' ');

/** Temporal's own options of an activity. */
const temporalNames = Object.keys({
  activityId: true,
  allowEagerDispatch: true,
  cancellationType: true,
  eventGroups: true,
  heartbeatTimeout: true,
  priority: true,
  retry: true,
  scheduleToCloseTimeout: true,
  scheduleToStartTimeout: true,
  startToCloseTimeout: true,
  summary: true,
  taskQueue: true,
  versioningIntent: true,
} satisfies Record<keyof ActivityOptions, true>);

/**
 * A call that waits for the rate limit holds a slot of the worker, or costs an attempt if it waits long. Below half of the 100 slots that a
 * worker has by default, calls of one workflow leave slots for other activities.
 */
const USUAL_CONCURRENCY = 50;

/** A call that waits. `refuse` is set once its scope is cancelled. */
interface Waiter {
  readonly enter: () => void;
  refuse: (() => void) | null;
}

/** Places for calls in one workflow, in the order of the calls. */
class Places {
  readonly #waiting: Waiter[] = [];
  /** The scopes of the calls under way. */
  readonly #held: CancellationScope[] = [];
  constructor(private readonly most: number) {}

  async hold<T>(call: () => Promise<T>): Promise<T> {
    const scope = CancellationScope.current();
    if (this.#held.length < this.most) this.#held.push(scope);
    else await this.#turn(scope);
    try {
      return await call();
    } finally {
      this.#held.splice(this.#held.indexOf(scope), 1);
      this.#next();
    }
  }

  /** Resolves when a call has left its place to this one. */
  #turn(scope: CancellationScope): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        this.#held.push(scope);
        resolve();
      };
      const waiter: Waiter = { enter, refuse: null };
      this.#waiting.push(waiter);
      scope.cancelRequested.catch((error: Error) => {
        waiter.refuse = () => reject(error);
        this.#next();
      });
    });
  }

  /**
   * Lets the next call in. Cancelled calls are refused only when no other cancelled call is under way: a workflow that ends with the first
   * refusal would lose the answers of those calls.
   */
  #next(): void {
    const lands = this.#held.some((scope) => scope.consideredCancelled);
    for (const waiter of [...this.#waiting]) {
      if (waiter.refuse ? lands : this.#held.length >= this.most) continue;
      this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
      (waiter.refuse ?? waiter.enter)();
    }
  }
}

type AnyActivity = (input: object, call: CallOptions) => Promise<OperationResult<unknown>>;
type AnyActivities = Record<string, AnyActivity>;

const MOST_SUMMARY = 120;

/** What Temporal's UI shows beside a call: its query or its first URL. */
function summaryOf(input: object): string | undefined {
  const { query, urls, url, id, instructions } = (input ?? {}) as Readonly<Record<string, unknown>>;
  const shown = query ?? (Array.isArray(urls) ? urls[0] : undefined) ?? url ?? id ?? instructions;
  return typeof shown === 'string' ? shown.slice(0, MOST_SUMMARY) : undefined;
}

function tooLarge(name: string, { bytes, landed }: { readonly bytes: number; readonly landed: readonly string[] }) {
  const message = `${name}: the answer has ${bytes} bytes. Ask for less, or read it by its reference: operations({ receipts: true })`;
  return ApplicationFailure.nonRetryable(message, 'ResultTooLarge', { bytes, landed });
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
