import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { workerDefaults, workflowSinks } from '../../../dist/worker/host/worker-options.js';
import { startedByUs } from '../../../src/core/rows/job-names.js';
import { codePath } from './host.js';

/** A call of an activity, which waits until the test answers it. */
export interface Call<Input> {
  readonly input: Input;
  /** Resolves when the activity is cancelled. */
  readonly cancelled: Promise<void>;
  answer(result: unknown): void;
  /** Fails the call without a retry, as the real activity does. */
  fail(type: string, message?: string, details?: object): void;
  /** Ends the call as cancelled. */
  cancel(): void;
}

/** A call that does not come within this time fails the test that waits for it. */
const MISSING_MS = 15_000;

/** A worker with the real workflows. The test answers the calls of their activities, one after the other. */
export class AnsweredActivities {
  readonly #temporal: TestWorkflowEnvironment;
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  readonly #calls: Map<string, Call<never>[]>;
  readonly #asks: Set<string>;

  private constructor(
    temporal: TestWorkflowEnvironment,
    worker: Worker,
    calls: Map<string, Call<never>[]>,
    asks: Set<string>,
  ) {
    this.#asks = asks;
    this.#temporal = temporal;
    this.#worker = worker;
    this.#calls = calls;
    this.#ended = worker.run();
  }

  /**
   * Starts the worker. `names`: the activities that workflows may call. `answered`: further activities with their answer, which the worker
   * gives at once, except to a workflow that was started with `asks`.
   */
  static async open(
    temporal: TestWorkflowEnvironment,
    names: readonly string[],
    answered: Readonly<Record<string, unknown>> = {},
  ): Promise<AnsweredActivities> {
    const calls = new Map<string, Call<never>[]>();
    const asks = new Set<string>();
    const asking = (name: string) => (input: never) => asked(calls, name, input);
    const answering = (name: string) => (input: never) =>
      asks.has(Context.current().info.workflowExecution?.workflowId ?? '') ? asking(name)(input) : answered[name];
    const taskQueue = `answered-${randomUUID()}`;
    const worker = await Worker.create({
      ...workerDefaults,
      sinks: workflowSinks,
      maxHeartbeatThrottleInterval: '20ms',
      defaultHeartbeatThrottleInterval: '20ms',
      shutdownForceTime: '1s',
      namespace: temporal.namespace,
      workflowBundle: { codePath },
      // Workflows run in this thread: a thread for each worker costs a quarter of a second.
      debugMode: true,
      connection: temporal.nativeConnection,
      taskQueue,
      activities: Object.fromEntries([
        ...names.map((name) => [name, asking(name)] as const),
        ...Object.keys(answered).map((name) => [name, answering(name)] as const),
      ]),
    });
    return new AnsweredActivities(temporal, worker, calls, asks);
  }

  /**
   * Starts a workflow by its name, as a command does. `startDelay`: the workflow's first task begins only after this time, even if a signal
   * comes earlier. `asks`: the test answers the calls of all activities.
   */
  async start(
    workflow: string,
    args: readonly unknown[],
    { startDelay = '0s', asks = false }: { readonly startDelay?: '0s' | '300ms'; readonly asks?: boolean } = {},
  ) {
    const workflowId = `${workflow}-${randomUUID()}`;
    if (asks) this.#asks.add(workflowId);
    const { taskQueue } = this.#worker.options;
    const handle = await this.#temporal.client.workflow.start(workflow, {
      ...{ workflowId, taskQueue, startDelay, memo: startedByUs },
      args: [...args],
    });
    return {
      handle,
      /** The next call of an activity. */
      call: <Input>(name: string): Promise<Call<Input>> => this.#next(`${workflowId} ${name}`),
      /** Number of calls that the test has not taken yet. */
      waiting: (name: string): number => this.#calls.get(`${workflowId} ${name}`)?.length ?? 0,
    };
  }

  async close(): Promise<void> {
    for (const call of [...this.#calls.values()].flat()) call.cancel();
    this.#worker.shutdown();
    await this.#ended.catch(() => undefined);
  }

  async #next<Input>(key: string): Promise<Call<Input>> {
    for (const until = Date.now() + MISSING_MS; Date.now() < until; await delay(2)) {
      const call = this.#calls.get(key)?.shift();
      if (call) return call as Call<Input>;
    }
    throw new Error(`no call of ${key}`);
  }
}

async function asked(calls: Map<string, Call<never>[]>, name: string, input: never): Promise<unknown> {
  const context = Context.current();
  const { info, cancellationSignal } = context;
  const key = `${info.workflowExecution?.workflowId} ${name}`;
  // An activity learns of its cancellation from the answer to a heartbeat.
  const timer = setInterval(() => context.heartbeat(), 20);
  try {
    return await new Promise((answer, reject) => {
      const call: Call<never> = {
        input,
        cancelled: new Promise((resolve) => {
          if (cancellationSignal.aborted) resolve();
          else cancellationSignal.addEventListener('abort', () => resolve(), { once: true });
        }),
        answer,
        fail: (type, message = type, details = {}) => reject(ApplicationFailure.nonRetryable(message, type, details)),
        cancel: () => reject(new CancelledFailure('cancelled')),
      };
      calls.set(key, [...(calls.get(key) ?? []), call]);
    });
  } finally {
    clearInterval(timer);
  }
}
