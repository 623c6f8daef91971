import { AsyncLocalStorage } from 'node:async_hooks';
import type { Log } from '../config/runtime-types.js';
import { type ActivityIds, countsOf, failedRequest, failureOf, type Observer } from './observed.js';

/**
 * Logs the end of each activity with the ids of its job, slice or window, workflow and activity, and each request with the id that the
 * service gave it and the ids of its activity. Inputs and answers are never logged.
 */
export function workLog(log: Log): Observer {
  const current = new AsyncLocalStorage<ActivityIds>();
  return {
    activity: (ids, call) => {
      const startedAt = performance.now();
      const ended = (level: 'INFO' | 'WARN', message: string, more: object) =>
        log({ level, message, ...ids, seconds: secondsSince(startedAt), ...more });
      return current.run(ids, async () => {
        try {
          const result = await call();
          ended('INFO', `${ids.activity} ended`, countsOf(result));
          return result;
        } catch (error) {
          const { type, isExpected } = failureOf(error);
          ended(isExpected ? 'INFO' : 'WARN', `${ids.activity} failed`, { failure: type });
          throw error;
        }
      });
    },
    request: async ({ name: operation }, call) => {
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
        const failed = failedRequest(error);
        if (failed) {
          const { status, tag } = failed.facts;
          ended('WARN', failed.verdict.type, failed.requestId, { status, tag });
        }
        throw error;
      }
    },
  };
}

const secondsSince = (startedAt: number) => Math.round(performance.now() - startedAt) / 1000;
