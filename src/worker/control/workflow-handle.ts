import { setTimeout as delay } from 'node:timers/promises';
import {
  type Client,
  ServiceError,
  type WorkflowHandle as TemporalHandle,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { CancelledFailure, TerminatedFailure } from '@temporalio/common';
import { jobOfWorkflow, queryNames } from '../../core/rows/job.js';
import { JobFailed, JobStopped, UsageError } from '../config/runtime-types.js';
import { grpcCode } from '../temporal-server/server-health.js';
import { STOPPED } from './work-owners.js';

/** A living worker answers within this time. */
const ANSWER_MS = 10_000;

/** How long a result is waited for while the server does not answer: it may be restarting. */
const SERVER_AWAY_MS = 300_000;
const ASK_AGAIN_MS = 1000;
/** gRPC codes of a server that is away, starting or busy: cancelled, unknown, deadline, exhausted, aborted, internal, unavailable. */
const AWAY = [1, 2, 4, 8, 10, 13, 14];

/** Cancels a workflow that runs. One that has ended is not found, as by a signal: Temporal takes its cancel without a word. */
export async function cancelLive(handle: TemporalHandle): Promise<void> {
  const { status } = await handle.describe();
  if (status.name !== 'RUNNING') throw new WorkflowNotFoundError('it has ended', handle.workflowId, undefined);
  await handle.cancel();
}

/**
 * The result of a workflow; one that failed, or was `cancelled`, rejects with `JobFailed`, one stopped by force with `JobStopped`. A
 * server that is away is asked again for five minutes.
 */
export async function resultOf<Result>(handle: TemporalHandle, cancelled: string): Promise<Result> {
  try {
    return (await awaitResult(handle)) as Result;
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const { cause } = error;
    if (cause instanceof TerminatedFailure && cause.message.startsWith(STOPPED))
      throw new JobStopped(cause.message.slice(STOPPED.length), { cause });
    if (cause instanceof CancelledFailure) throw new JobFailed(cancelled, { cause });
    throw new JobFailed(cause instanceof Error ? cause.message : error.message, { cause });
  }
}

async function awaitResult(handle: TemporalHandle): Promise<unknown> {
  let awaySince: number | null = null;
  for (;;) {
    const askedAt = performance.now();
    try {
      return await handle.result();
    } catch (error) {
      if (!AWAY.includes(grpcCode(error) ?? 0)) throw error;
      // A request that the server held for long was answered meanwhile: it is away since its end.
      const now = performance.now();
      awaySince = awaySince === null || now - askedAt > SERVER_AWAY_MS / 2 ? now : awaySince;
      if (now - awaySince > SERVER_AWAY_MS) {
        const { message } = error instanceof ServiceError && error.cause ? error.cause : (error as Error);
        throw new UsageError(
          `The Temporal server has not answered for 5 minutes (${message}). What it runs continues; run the same command to watch it`,
        );
      }
      await delay(ASK_AGAIN_MS);
    }
  }
}

/** A workflow that runs or ran, with its progress and its result. Failures leave as `JobFailed`, mistakes as `UsageError`. */
export class WorkflowHandle<Progress, Result> {
  readonly workflowId: string;
  readonly #client: Client;
  readonly #handle: TemporalHandle;

  constructor(client: Client, workflowId: string) {
    this.#client = client;
    this.workflowId = workflowId;
    this.#handle = client.workflow.getHandle(workflowId);
  }

  progress(): Promise<Progress> {
    return this.#known(() =>
      this.#client.withDeadline(Date.now() + ANSWER_MS, () => this.#handle.query<Progress>(queryNames.progress)),
    );
  }

  /** Whether it runs, as its server says without a worker; null where that knows nothing of it. */
  async runs(): Promise<boolean | null> {
    try {
      const { status } = await this.#handle.describe();
      return status.name === 'RUNNING';
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
      return null;
    }
  }

  result(): Promise<Result> {
    return this.#known(() => resultOf<Result>(this.#handle, 'it was cancelled'));
  }

  /** Sends an Update and waits for its answer; a refused one is a mistake, in its own words. */
  async update<Answer>(name: string, argument: object): Promise<Answer> {
    try {
      return await this.#known(() => this.#handle.executeUpdate<Answer, [object]>(name, { args: [argument] }));
    } catch (error) {
      if (!(error instanceof WorkflowUpdateFailedError)) throw error;
      throw new UsageError(error.cause instanceof Error ? error.cause.message : error.message);
    }
  }

  async signal(name: string): Promise<void> {
    await this.#known(() => this.#handle.signal(name));
  }

  async cancel(): Promise<void> {
    await this.#known(() => cancelLive(this.#handle));
  }

  async #known<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
      throw new UsageError(`There is no ${jobOfWorkflow(this.workflowId)} here that runs`);
    }
  }
}
