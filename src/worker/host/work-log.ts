import { AsyncLocalStorage } from 'node:async_hooks';
import type { Info } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory, CancelledFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Transport } from '../../api/transport.js';
import { ApiError } from '../../api/wire/errors.js';
import { jobOfWorkflow } from '../../core/rows/job.js';
import type { Log } from '../config/runtime-types.js';

/** The ids of the activity that is running. */
const current = new AsyncLocalStorage<Readonly<Record<string, unknown>>>();

/** Counts of an activity's result that are logged. */
const counted = ['complete', 'rows', 'requests', 'bought', 'failed', 'costMicros', 'pages', 'events', 'added'] as const;

/** Logs the end of each activity, with the ids of its job, slice or window, workflow and activity. Inputs and answers are never logged. */
export function workLog(log: Log): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        const ids = idsOf(info, input.args[0]);
        const startedAt = performance.now();
        const ended = (level: 'INFO' | 'WARN', message: string, more: object) =>
          log({ level, message, ...ids, seconds: secondsSince(startedAt), ...more });
        return current.run(ids, async () => {
          try {
            const result = await next(input);
            ended('INFO', `${info.activityType} ended`, countsOf(result));
            return result;
          } catch (error) {
            const type = error instanceof ApplicationFailure ? error.type : (error as Error | null)?.name;
            ended(isExpected(error) ? 'INFO' : 'WARN', `${info.activityType} failed`, { failure: type ?? 'Error' });
            throw error;
          }
        });
      },
    },
  });
}

/** Logs each request to the service, with the id that the service gave it and the ids of the activity that sent it. */
export function loggedTransport(log: Log, transport: Transport): Transport {
  const logged = async <T extends { readonly requestId: string | null }>(operation: string, call: () => Promise<T>) => {
    const startedAt = performance.now();
    const ended = (level: 'INFO' | 'WARN', outcome: string, requestId: string | null, more: object = {}) =>
      log({
        ...{ level, message: 'request', operation, outcome, requestId, ...current.getStore() },
        ...{ seconds: secondsSince(startedAt), ...more },
      });
    try {
      const answer = await call();
      ended('INFO', 'ok', answer.requestId);
      return answer;
    } catch (error) {
      // A call that was refused before it was sent is not a request.
      if (error instanceof ApiError && error.facts.phase !== 'refused')
        ended('WARN', error.verdict.type, error.requestId, { status: error.facts.status, tag: error.facts.tag });
      throw error;
    }
  };
  return {
    ...transport,
    send: (endpoint, input, options) => logged(endpoint.name, () => transport.send(endpoint, input, options)),
    sendRawList: (endpoint, input, options) =>
      logged(endpoint.name, () => transport.sendRawList(endpoint, input, options)),
  };
}

function idsOf({ workflowExecution, activityId, activityType, attempt }: Info, input: unknown) {
  const { slice, window } = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>;
  const { workflowId, runId } = workflowExecution ?? {};
  return {
    ...(workflowId === undefined ? {} : { job: jobOfWorkflow(workflowId), workflowId, runId }),
    ...(typeof slice === 'number' ? { slice } : {}),
    ...(typeof window === 'number' ? { window } : {}),
    ...{ activity: activityType, activityId, attempt },
  };
}

function countsOf(result: unknown): object {
  if (typeof result !== 'object' || result === null) return {};
  const fields = result as Readonly<Record<string, unknown>>;
  const found = counted.filter((name) => typeof fields[name] === 'number' || typeof fields[name] === 'boolean');
  return Object.fromEntries(found.map((name) => [name, fields[name]]));
}

/** Whether a failed activity is ordinary: it waits, or it was cancelled. */
function isExpected(error: unknown): boolean {
  if (error instanceof CancelledFailure) return true;
  return error instanceof ApplicationFailure && error.category === ApplicationFailureCategory.BENIGN;
}

const secondsSince = (startedAt: number) => Math.round(performance.now() - startedAt) / 1000;
