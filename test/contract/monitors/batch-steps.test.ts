import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { BatchStep } from '../../../src/activities/monitors/monitor-batch.js';
import type { CallEffect } from '../../../src/core/monitors/monitor-batch.js';
import type { Decision } from '../../../src/core/workflow-input-schemas.js';
import type { BatchPhase, BatchProgress } from '../../../src/core/workflow-result-schemas.js';
import { AnsweredActivities } from '../../support/jobs/answered-activities.js';
import { soon } from '../../support/jobs/checks.js';
import { failureOf } from '../../support/monitors/setting.js';
import { ofFile } from '../../support/of-file.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();
const names = ['planMonitorBatch', 'decideMonitorBatch', 'affectMonitors', 'finishMonitorBatch'];
const worker = ofFile(() => AnsweredActivities.open(temporal, names));

type Decided = { readonly decision: Decision & { readonly approved: boolean }; readonly waited: boolean };

/** Starts a batch; its plan has this number of monitors. */
async function planned(count: number, input: object = {}) {
  const job = await worker.start('batchMonitors', [
    { action: 'pause', filter: { name: 'daily' }, by: 'Ann', ...input },
  ]);
  const { handle } = job;
  const batch = {
    ...job,
    progress: () => handle.query<BatchProgress>('progress'),
    plan: async () => {
      (await job.call('planMonitorBatch')).answer({ planned: count, already: 0, left: 0, examples: [] });
    },
    decision: () => job.call<BatchStep & Decided>('decideMonitorBatch'),
    /** Answers the next call of the batch with this effect; returns the input of the call. */
    async affect(effect: Partial<CallEffect>) {
      const call = await job.call<BatchStep & { readonly call: number }>('affectMonitors');
      call.answer({ answered: true, fresh: 0, unplanned: 0, stranger: null, hasMore: true, ...effect });
      return call.input;
    },
    finish: () => job.call<BatchStep & { readonly phase: BatchPhase }>('finishMonitorBatch'),
    decide: (name: 'approve' | 'reject', by: string) => handle.executeUpdate(name, { args: [{ by }] }),
  };
  return batch;
}

/** Starts a batch and brings it to its first call. */
async function running(count: number, input: object = {}) {
  const batch = await planned(count, input);
  await batch.plan();
  const decision = await batch.decision();
  decision.answer(undefined);
  return { ...batch, decided: decision.input };
}

describe('the calls of a batch', () => {
  it('are numbered, and go on until the service has no more; lost answers count by their effect', async () => {
    const batch = await running(5, { limit: 2 });
    expect(batch.decided).toMatchObject({ decision: { by: 'Ann', approved: true }, waited: false });
    expect(await batch.affect({ fresh: 2 })).toMatchObject({ call: 1, limit: 2 });
    expect(await batch.affect({ answered: false, fresh: 1, hasMore: null })).toMatchObject({ call: 2 });
    expect(await batch.affect({})).toMatchObject({ call: 3 });
    // A call with an effect comes between two calls without one, so the calls without an effect are counted from one again.
    expect(await batch.affect({ fresh: 1 })).toMatchObject({ call: 4 });
    expect(await batch.affect({})).toMatchObject({ call: 5 });
    expect(await batch.progress()).toMatchObject({ phase: 'running', message: null });
    expect(await batch.affect({ fresh: 1, hasMore: false })).toMatchObject({ call: 6, limit: 2 });
    const finish = await batch.finish();
    expect(finish.input.phase).toBe('done');
    finish.answer({ missed: 0 });
    const summary = {
      phase: 'done',
      calls: 6,
      lost: 1,
      affected: 5,
      effect: { missed: 0 },
      into: 'out/monitors.duckdb',
    };
    expect(await batch.handle.result()).toMatchObject(summary);
    expect((await batch.progress()).phase).toBe('done');
  });

  it('of a deletion are limited to the rest of its plan, and end with a monitor beyond it', async () => {
    const batch = await running(4, { action: 'delete', limit: 3, approval: { by: 'Bob', why: 'old ones' } });
    expect(batch.decided).toMatchObject({ decision: { by: 'Bob', why: 'old ones', approved: true }, waited: false });
    expect((await batch.affect({ fresh: 3 })).limit).toBe(3);
    expect((await batch.affect({ fresh: 1, unplanned: 1, stranger: 'mon_9' })).limit).toBe(1);
    const finish = await batch.finish();
    expect(finish.input.phase).toBe('failed');
    finish.answer(null);
    const failure = await failureOf(batch.handle.result());
    expect(failure).toMatchObject({ type: 'PlanChanged', message: expect.stringContaining('such as mon_9') });
  });

  it('without an answer are repeated after a wait, which the progress explains', async () => {
    const batch = await running(2);
    await batch.affect({ answered: false, hasMore: null });
    await delay(300);
    expect(batch.waiting('affectMonitors')).toBe(0);
    expect((await batch.progress()).message).toBe('the service does not answer; the call is retried');
    // The call without an answer does not count, so this call is the first without an effect.
    await batch.affect({});
    const last = await batch.call<BatchStep>('affectMonitors');
    expect(await batch.progress()).toMatchObject({ message: null, lost: 1, calls: 2 });
    last.answer({ answered: true, fresh: 1, unplanned: 0, stranger: null, hasMore: false });
    (await batch.finish()).answer(null);
  });

  it('without an effect end the batch, counted across runs of its workflow', async () => {
    const batch = await running(2);
    const first = await batch.call('affectMonitors');
    // On this server a workflow continues as new after 200 events of its history.
    await Promise.all(Array.from({ length: 200 }, () => batch.handle.signal('nothing')));
    first.answer({ answered: true, fresh: 0, unplanned: 0, stranger: null, hasMore: true });
    await batch.affect({});
    const finish = await batch.finish();
    expect((await batch.handle.describe()).runId).not.toBe(batch.handle.firstExecutionRunId);
    expect(finish.input).toMatchObject({ phase: 'failed', run: batch.handle.firstExecutionRunId });
    finish.answer(null);
    const failure = await failureOf(batch.handle.result());
    expect(failure).toMatchObject({ type: 'NoProgress', message: expect.stringContaining('after 2 calls') });
  });
});

describe('the approval of a batch', () => {
  const deletion = { action: 'delete', approvalWithinMs: 60_000 };

  it('is asked for once there is a plan, and decided once', async () => {
    const batch = await planned(3, deletion);
    await batch.call('planMonitorBatch').then(async (plan) => {
      await expect(batch.decide('approve', 'Bob')).rejects.toMatchObject({
        cause: { message: 'the batch is not waiting for a decision: it is planning' },
      });
      plan.answer({ planned: 3, already: 0, left: 0, examples: [] });
    });
    await expect.poll(async () => (await batch.progress()).phase, soon).toBe('waiting');
    const { approveUntil } = await batch.progress();
    expect(Math.abs((approveUntil ?? 0) - Date.now() - 60_000)).toBeLessThan(10_000);
    await expect(batch.decide('approve', '')).rejects.toThrow();
    await batch.decide('approve', 'Bob');
    const decision = await batch.decision();
    expect(decision.input).toMatchObject({ decision: { by: 'Bob', approved: true }, waited: true });
    await expect(batch.decide('reject', 'Eve')).rejects.toMatchObject({
      cause: { message: 'Bob has already decided' },
    });
    decision.answer(undefined);
    await batch.affect({ fresh: 3, hasMore: false });
    (await batch.finish()).answer(null);
    expect(await batch.handle.result()).toMatchObject({ phase: 'done', decision: { by: 'Bob', approved: true } });
  });

  it('that does not come in time, or is refused, ends it without a call', async () => {
    const late = await planned(3, { ...deletion, approvalWithinMs: 50 });
    await late.plan();
    const finish = await late.finish();
    expect(finish.input.phase).toBe('expired');
    finish.answer(null);
    expect(await late.handle.result()).toMatchObject({ phase: 'expired', calls: 0 });

    const refused = await planned(3, deletion);
    await refused.plan();
    await expect.poll(async () => (await refused.progress()).phase, soon).toBe('waiting');
    await refused.decide('reject', 'Bob');
    (await refused.decision()).answer(undefined);
    expect((await refused.finish()).input.phase).toBe('rejected');
    await refused.handle.terminate();
  });

  it('is not asked for without a monitor', async () => {
    const batch = await planned(0, deletion);
    await batch.plan();
    (await batch.decision()).answer(undefined);
    expect((await batch.finish()).input.phase).toBe('done');
    await batch.handle.terminate();
  });
});

it('a cancelled batch is recorded as cancelled', async () => {
  const batch = await running(2);
  const call = await batch.call('affectMonitors');
  await batch.handle.cancel();
  await call.cancelled;
  call.cancel();
  const finish = await batch.finish();
  expect(finish.input.phase).toBe('cancelled');
  finish.answer(null);
  await expect(batch.handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
  expect((await batch.progress()).phase).toBe('cancelled');
});
