import type { Client } from '@temporalio/client';
import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { CancelledFailure, RetryState, TerminatedFailure } from '@temporalio/common';
import { expect, it } from 'vitest';
import type { WatchedRun } from '../../../src/core/workflow-result-schemas.js';
import { runWatch } from '../../../src/worker/host/worker-here.js';
import { awaitEnd } from '../../../src/worker/schedules/schedule-view.js';

/** Records the reports about runs; the test decides when a run ends. */
function watching() {
  const reports: string[] = [];
  const ends = new Map<string, { end(result: unknown): void; fail(error: Error): void }>();
  const getHandle = (workflowId: string, runId: string) => ({
    result: () => new Promise((end, fail) => ends.set(`${workflowId} ${runId}`, { end, fail })),
  });
  const watch = runWatch({ workflow: { getHandle } } as unknown as Client, ({ job, phase, message }: WatchedRun) =>
    reports.push(`${job} ${phase}${message === null ? '' : `: ${message}`}`),
  );
  return {
    /** Begins an activity of a run. */
    async activity(workflowId: string, runId = 'r') {
      const info = { workflowExecution: { workflowId, runId }, workflowType: 'enrichCsv' };
      const { inbound } = watch({ info } as never);
      const ended = await inbound?.execute?.({} as never, async () => 'the result of the activity');
      expect(ended).toBe('the result of the activity');
    },
    async end(run: string, how: (run: { end(result: unknown): void; fail(error: Error): void }) => void) {
      how(ends.get(run) as never);
      await new Promise((resolve) => setImmediate(resolve));
    },
    take: () => reports.splice(0),
  };
}

it('a run is reported once when it begins and once when it ends, and so is the next run of its job', async () => {
  const { activity, end, take } = watching();
  await activity('searchflow-companies');
  await activity('searchflow-companies');
  await activity('searchflow-companies', 'continued');
  await activity('other');
  expect(take()).toEqual(['companies running', 'other running']);
  await end('searchflow-companies r', (run) => run.end({ phase: 'stopped', message: 'no credits', warehouse: {} }));
  expect(take()).toEqual(['companies stopped: no credits']);
  await activity('searchflow-companies', 'next');
  expect(take()).toEqual(['companies running']);
  const cancelled = new WorkflowFailedError(
    'it failed',
    new CancelledFailure('Workflow canceled'),
    RetryState.NON_RETRYABLE_FAILURE,
  );
  await end('searchflow-companies next', (run) => run.fail(cancelled));
  expect(take()).toEqual(['companies cancelled']);
});

it('a run whose end is not known is reported again when it has another activity', async () => {
  const { activity, end, take } = watching();
  await activity('searchflow-companies');
  await end('searchflow-companies r', (run) => run.fail(new Error('the server is away')));
  await activity('searchflow-companies');
  expect(take()).toEqual(['companies running', 'companies running']);
});

it('the ends of at most 100 runs are awaited, and places become free', async () => {
  const { activity, end, take } = watching();
  for (let run = 0; run < 101; run++) await activity(`run-${run}`);
  expect(take()).toHaveLength(101);
  await end('run-0 r', (run) => run.end({ phase: 'done' }));
  expect(take()).toEqual(['run-0 done']);
  await activity('run-100');
  await end('run-100 r', (run) => run.end({ phase: 'done' }));
  expect(take()).toEqual(['run-100 running', 'run-100 done']);
});

it('a run that was terminated is cancelled with the reason, and stopped if a command or its end terminated it', async () => {
  const asking = (reason: string) => {
    const error = new WorkflowFailedError('it failed', new TerminatedFailure(reason), RetryState.NON_RETRYABLE_FAILURE);
    return awaitEnd({ workflowId: 'searchflow-q3', result: () => Promise.reject(error) });
  };
  expect(await asking('by hand')).toEqual({ phase: 'cancelled', message: 'by hand', summary: null });
  const stopped = { phase: 'stopped', message: 'its command was stopped', summary: null };
  expect(await asking('command-stopped')).toEqual(stopped);
});

it('a run whose result the server no longer keeps is forgotten, and one that cannot be asked is an error', async () => {
  const asking = (error: Error) => awaitEnd({ workflowId: 'searchflow-q3', result: () => Promise.reject(error) });
  const gone = new WorkflowNotFoundError('not found', 'searchflow-companies', 'r');
  expect(await asking(gone)).toEqual({ phase: 'forgotten', message: null, summary: null });
  await expect(asking(new Error('the server is away'))).rejects.toThrow('the server is away');
});
