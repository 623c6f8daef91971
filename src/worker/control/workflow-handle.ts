import { setTimeout as delay } from 'node:timers/promises';
import {
  type Client,
  ServiceError,
  type WorkflowHandle as TemporalHandle,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure } from '@temporalio/common';
import { type AlertRun, stateOfRun } from '../../core/alerts/job-alerts.js';
import { CodedError } from '../../core/errors/coded-error.js';
import type { JobEntry, JobState } from '../../core/job-entry-schemas.js';
import type { Work } from '../../core/rows/job-entries.js';
import { jobOfWorkflow, workflowIdOf } from '../../core/rows/job-ids.js';
import { queryNames } from '../../core/rows/job-names.js';
import type { Said } from '../../core/rows/pause.js';
import { openAlerts } from '../alerts.js';
import { JobFailed, JobStopped, type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { isStopReason, noteState, saidOfStop } from '../staging/find-job.js';
import type { Store } from '../store/store.js';
import { grpcCode } from '../temporal-server/retries-until-close.js';
import { describeWorkflow, type PendingActivity, pendingActivity } from './pending-activity.js';

const ANSWER_MS = 10_000;

/** Longest wait for a server that does not answer: the server may be restarting. */
const SERVER_AWAY_MS = 300_000;
const ASK_AGAIN_MS = 1000;
/**
 * gRPC codes of a server that cannot be reached, is starting or is busy: cancelled, unknown, deadline, exhausted, aborted, internal,
 * unavailable.
 */
const AWAY = [1, 2, 4, 8, 10, 13, 14];

/** How a run of a workflow ended. `stopped`: its command terminated it; `terminated`: another client did. */
export type WorkflowEnd<Result> =
  | { readonly how: 'completed'; readonly result: Result }
  | { readonly how: 'stopped' | 'failed' | 'terminated'; readonly said: Said<string>; readonly cause: Error }
  | { readonly how: 'cancelled'; readonly said: null; readonly cause: Error };

/** Returns how a workflow ended, once its `result` has settled. Rejects with `WorkflowNotFoundError` if the server does not know it. */
export async function endOf<Result = unknown>(
  workflowId: string,
  result: Promise<unknown>,
): Promise<WorkflowEnd<Result>> {
  try {
    return { how: 'completed', result: (await result) as Result };
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const { cause = error } = error;
    const { message } = cause;
    if (cause instanceof CancelledFailure) return { how: 'cancelled', said: null, cause };
    if (cause instanceof TerminatedFailure)
      return isStopReason(message)
        ? { how: 'stopped', said: saidOfStop(message, jobOfWorkflow(workflowId)), cause }
        : { how: 'terminated', said: { message }, cause };
    const facts = cause instanceof ApplicationFailure ? cause.details?.[0] : null;
    return { how: 'failed', said: (facts as { readonly said?: Said<string> } | null)?.said ?? { message }, cause };
  }
}

/**
 * The result of a workflow. Rejects with `JobFailed` if it failed or was cancelled (message `cancelled`), with `JobStopped` if it was
 * terminated by its owner. `job`: the row job of the workflow. Retries for five minutes if the server cannot be reached.
 */
export async function resultOf<Result>(
  handle: TemporalHandle,
  cancelled: string,
  job: string | null = null,
): Promise<Result> {
  const end = await endOf<Result>(handle.workflowId, awaitResult(handle));
  if (end.how === 'completed') return end.result;
  const { how, said, cause } = end;
  if (said === null) throw new JobFailed(cancelled, { cause, job, isUsual: true });
  throw new (how === 'stopped' ? JobStopped : JobFailed)(said.message, { cause, job, next: said.next });
}

async function awaitResult(handle: TemporalHandle): Promise<unknown> {
  let awaySince: number | null = null;
  for (;;) {
    const askedAt = performance.now();
    try {
      return await handle.result();
    } catch (error) {
      if (!AWAY.includes(grpcCode(error) ?? 0)) throw error;
      // A request that failed only after a long time shows that the server was reachable until then.
      const now = performance.now();
      awaySince = awaySince === null || now - askedAt > SERVER_AWAY_MS / 2 ? now : awaySince;
      if (now - awaySince > SERVER_AWAY_MS) {
        const { message } = error instanceof ServiceError && error.cause ? error.cause : (error as Error);
        throw new CodedError(
          'temporal-unreachable',
          `The Temporal server has not answered for 5 minutes (${message}). Its workflows continue; run the same command to watch this one`,
        );
      }
      await delay(ASK_AGAIN_MS);
    }
  }
}

export class WorkflowHandle<Progress, Result> {
  protected readonly client: Client;
  protected readonly temporal: TemporalHandle;

  constructor(
    client: Client,
    readonly workflowId: string,
    readonly job = jobOfWorkflow(workflowId),
  ) {
    this.client = client;
    this.temporal = client.workflow.getHandle(workflowId);
  }

  progress(): Promise<Progress> {
    return this.known(() => this.client.withDeadline(Date.now() + ANSWER_MS, () => this.read()));
  }

  result(): Promise<Result> {
    return this.known(() => this.outcome());
  }

  /** Sends an Update and waits for its answer. A refused Update rejects with `UsageError`. */
  async update<Answer>(name: string, argument: object): Promise<Answer> {
    try {
      return await this.known(() => this.temporal.executeUpdate<Answer, [object]>(name, { args: [argument] }));
    } catch (error) {
      if (!(error instanceof WorkflowUpdateFailedError)) throw error;
      throw new UsageError('decision-refused', error.cause instanceof Error ? error.cause.message : error.message);
    }
  }

  async signal(name: string, ...content: readonly object[]): Promise<void> {
    await this.known(() => this.temporal.signal(name, ...content), name);
  }

  async cancel(): Promise<void> {
    const cancel = async () => {
      const { status } = await this.temporal.describe();
      // Temporal itself reports no error for a workflow that has ended.
      if (status.name !== 'RUNNING') throw new WorkflowNotFoundError('it has ended', this.workflowId, undefined);
      await this.temporal.cancel();
    };
    await this.known(cancel, 'cancel');
  }

  protected read(): Promise<Progress> {
    return this.temporal.query<Progress>(queryNames.progress);
  }

  protected outcome(): Promise<Result> {
    return resultOf<Result>(this.temporal, 'it was cancelled');
  }

  protected async activities(): Promise<readonly PendingActivity[]> {
    const { raw } = await this.temporal.describe();
    const { loadedDataConverter } = this.client.options;
    const now = Date.now();
    return Promise.all((raw.pendingActivities ?? []).map((one) => pendingActivity(loadedDataConverter, one, now)));
  }

  /** Runs work that needs a workflow; turns "workflow not found" into a `UsageError`. `verb`: what the user asked for. */
  protected async known<T>(work: () => Promise<T>, verb: string | null = null): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
      throw new UsageError('job-not-running', await this.notRunningText(verb));
    }
  }

  protected async notRunningText(_verb: string | null): Promise<string> {
    return `${this.job} is not running`;
  }
}

/** Statuses of workflows that Temporal ended, so that no activity could report or record the end of their run. */
const ends: Readonly<Record<string, { readonly failure: string; readonly message: string }>> = {
  TERMINATED: { failure: 'Terminated', message: 'its workflow was terminated in Temporal' },
  TIMED_OUT: { failure: 'TimedOut', message: 'its workflow has timed out in Temporal' },
};

export interface Parts {
  readonly store: Pick<Store, 'entries'>;
  readonly config: Pick<RuntimeConfig, 'alerts' | 'origin' | 'taskQueue' | 'say'>;
}

/**
 * Reports a run of `work` that ended in Temporal after `since` (Unix ms), and returns the state that it left. Null if the run goes on, or
 * ended by itself. The alert has one id, so several processes may report the same end.
 */
async function reportEnd(
  { config }: Parts,
  client: Client,
  { workflowId, ...work }: Work & Pick<AlertRun, 'kind' | 'scheduled'>,
  since: number,
): Promise<JobState | null> {
  const about = await describeWorkflow(client, workflowId);
  const end = about && ends[about.status.name];
  const endedAt = about?.closeTime?.getTime() ?? 0;
  if (!about || !end || endedAt <= since) return null;
  const { failure, ...terminated } = end;
  const ended = await endOf(workflowId, client.workflow.getHandle(workflowId, about.runId).result());
  const said = ended.how === 'stopped' ? ended.said : null;
  const phase = said === null ? 'failed' : 'stopped';
  const run = about.raw.workflowExecutionInfo?.firstRunId || about.runId;
  const fact = stateOfRun({ ...work, run, origin: config.origin }, { phase, failure, since: endedAt });
  await openAlerts(config, async () => client).note([fact]);
  return { phase, ...(said ?? terminated), since: endedAt };
}

/** Reports the end of a job whose workflow Temporal ended, and returns the state that it left. Null for any other job. */
export function reportEndOfJob(parts: Parts, client: Client, entry: JobEntry): Promise<JobState | null> {
  const { staged, state, schedule, workflowId = workflowIdOf(staged.job) } = entry;
  const work = { job: staged.job, workflowId, kind: 'rows', scheduled: schedule !== undefined } as const;
  return reportEnd(parts, client, work, state.since);
}

/** Reports and records the end of a job whose workflow Temporal ended. Does nothing for any other job. */
export async function noteEndOfJob(parts: Parts, client: Client, entry: JobEntry): Promise<void> {
  const { staged } = entry;
  const end = await reportEndOfJob(parts, client, entry);
  // The state comes last: if this process dies first, the next worker reports the same alert.
  if (end !== null) await noteState(parts.store.entries, staged, end);
}

/** Reports the end of a walk whose workflow Temporal ended. Does nothing for any other name. */
export async function noteEndOfWalk(parts: Parts, client: Client, job: string): Promise<void> {
  const walk = (await parts.store.entries.walks()).find((one) => one.job === job);
  if (walk) await reportEnd(parts, client, { ...walk, kind: 'walk', scheduled: false }, 0);
}
