import { describe, expect, it } from 'vitest';
import type { JobPhase } from '../../../src/core/rows/job-names.js';
import { type JobStatus, UsageError } from '../../../src/worker/config/runtime-types.js';
import { fakeHandle, plan, progress, summary } from '../../support/cli/fake-runtime.js';
import { folderWithRows } from '../../support/cli/folder-with-rows.js';
import { typeCommand } from '../../support/cli/type-command.js';

const cwd = folderWithRows();
const type = (line: string, changes = {}) => typeCommand(cwd, line, changes);

describe('--detach', () => {
  it('starts the job on the workers after the plan and the confirmation, prints its id and does not watch it', async () => {
    const never = { start: async () => fakeHandle() };
    const started = await type('enrich in.csv --detach', never);
    expect(started).toMatchObject({ code: 0, out: 'brands-1\n', refusal: '' });
    expect(started.err).toContain('To wait for it:\n  searchflow wait brands-1');
    expect(started.calls.slice(0, 3)).toEqual(['checkDetached', 'plan', 'start']);
    expect(started.asked).toContainEqual(['start', plan, { detached: true }]);
    const data = await type('agent rows in.csv --query {{name}} --detach --json', never);
    expect(JSON.parse(data.out)).toEqual({ kind: 'started', job: 'brands-1', state: 'started' });
    const dear = { ...never, plan: async () => ({ ...plan, estimateMicros: 20_000_000 }) };
    expect(await type('enrich in.csv --detach', dear)).toMatchObject({ code: 2, out: '' });
    const resumed = await type('resume brands --detach --max-cost 3', { resume: async () => fakeHandle() });
    expect(resumed).toMatchObject({ code: 0, out: 'brands-1\n' });
    expect(resumed.asked).toContainEqual(['resume', 'brands', { maxCostDollars: 3 }, { detached: true }]);
  });

  it('prints the id of a job whose rows are all loaded, and starts nothing', async () => {
    const done = { plan: async () => ({ ...plan, status: 'complete', toBuy: 0 }) };
    const { code, out, calls } = await type('enrich in.csv --detach --json', done);
    expect([code, JSON.parse(out)]).toEqual([0, { kind: 'started', job: 'brands-1', state: 'done' }]);
    expect(calls).not.toContain('start');
  });

  it.each([
    'enrich in.csv --detach',
    'agent rows in.csv --query x --detach',
    'events sync --detach',
    'events backfill --from 2026-11-01 --detach',
    'monitors export --detach',
    'resume brands --detach',
  ])('%s without such a worker is refused before anything else', async (line) => {
    const none = {
      checkDetached: async () => {
        throw new UsageError('worker-missing', '--detach needs a worker');
      },
    };
    const { code, calls, refusal } = await type(line, none);
    expect({ code, refusal }).toEqual({ code: 2, refusal: '--detach needs a worker' });
    expect(calls).toEqual(['checkDetached', 'close drain']);
  });
});

describe('wait', () => {
  const as = (phase: JobStatus['phase'], message: string | null = null) => ({
    status: async (job: string) => ({ job: `${job}-1`, name: job, phase, message, since: null, shown: null }),
  });
  const paused = (pausedFor: 'person' | 'credits') => ({
    ...as('running'),
    attach: async () =>
      fakeHandle({ progress: async () => ({ progress: { ...progress, phase: 'paused', pausedFor }, running: [] }) }),
  });

  it('ends with the job, and has the output and the exit code of its own command', async () => {
    const ends = (phase: JobPhase) => ({
      ...as('running'),
      attach: async () => fakeHandle({ result: async () => ({ ...summary, phase, stoppedFor: 'budget' as const }) }),
    });
    const done = await type('wait brands --json', ends('done'));
    expect([done.code, JSON.parse(done.out)]).toMatchObject([0, { kind: 'summary', phase: 'done' }]);
    expect((await type('wait brands --fail-on-failed-rows 4', ends('done'))).code).toBe(3);
    expect((await type('wait brands', ends('stopped'))).code).toBe(5);
  });

  it('ends at a pause, also by a person, and names the command that resumes the job', async () => {
    const credits = await type('wait brands --json', paused('credits'));
    expect([credits.code, JSON.parse(credits.out)]).toMatchObject([4, { kind: 'paused', pausedFor: 'credits' }]);
    const person = await type('wait brands', paused('person'));
    expect(person).toMatchObject({ code: 6, err: expect.stringContaining('searchflow resume brands') });
  });

  it('of a job that has ended already returns at once', async () => {
    expect((await type('wait brands', as('done'))).code).toBe(0);
    expect((await type('wait brands --fail-on-failed-rows', as('done'))).code).toBe(3);
    const failed = await type('wait brands --json', as('failed', 'the disk is full'));
    expect([failed.code, JSON.parse(failed.out)]).toMatchObject([1, { kind: 'status', phase: 'failed' }]);
    const cancelled = { ...as('cancelled'), attach: () => Promise.reject(new Error('gone')) };
    expect((await type('wait brands', cancelled)).code).toBe(6);
  });

  it('of a paused or ended job has the exit code of its state, however short --timeout is', async () => {
    const shown = { progress: { ...progress, phase: 'paused' as const, pausedFor: 'budget' as const }, running: [] };
    const live = async (job: string) => ({ ...(await as('paused').status(job)), shown });
    const attach = async () => fakeHandle({ progress: async () => shown });
    const paused = await type('wait brands --timeout 0s --json', { status: live, attach });
    expect([paused.code, JSON.parse(paused.out)]).toMatchObject([5, { kind: 'paused', pausedFor: 'budget' }]);
    const silent = async (job: string) => ({
      ...(await as('paused', 'no money').status(job)),
      reason: 'credits' as const,
    });
    const recorded = await type('wait brands --timeout 0s --json', {
      status: silent,
      attach: async () => fakeHandle(),
    });
    expect([recorded.code, JSON.parse(recorded.out)]).toMatchObject([4, { kind: 'status', phase: 'paused' }]);
    expect((await type('wait brands --timeout 0s', as('failed', 'the disk is full'))).code).toBe(1);
    expect((await type('wait brands --timeout 0s', as('done'))).code).toBe(0);
  });

  it('of a job that has ended already has the figures of its last run, as status has them, or null, never a false 0', async () => {
    const lastRun = { requests: 20, costMicros: 20_000, estimateMicros: 21_000, seconds: 4.5 };
    const found = await as('done').status('brands');
    const recorded = { status: async () => ({ ...found, lastRun }) };
    for (const line of ['wait brands --json', 'status brands --json']) {
      expect(JSON.parse((await type(line, recorded)).out)).toMatchObject({
        ...{ kind: 'summary', requests: 20, costDollars: 0.02, estimateDollars: 0.021, seconds: 4.5 },
        totalCostDollars: summary.totalCostMicros / 1e6,
      });
      expect(JSON.parse((await type(line, as('done'))).out)).toMatchObject({
        ...{ kind: 'summary', requests: null, costDollars: null, estimateDollars: null, seconds: null },
        totalCostDollars: summary.totalCostMicros / 1e6,
      });
    }
  });

  it('ends after --timeout with exit code 7, and leaves the job alone', async () => {
    const running = { ...as('running'), attach: async () => fakeHandle() };
    const { code, err, calls } = await type('wait brands --timeout 0s', running);
    expect([code, err]).toEqual([7, expect.stringContaining('brands has not ended after 0 s, and is not affected')]);
    expect(calls).not.toContain('stop');
    const data = await type('wait brands --timeout 0s --json', running);
    expect([data.code, JSON.parse(data.out)]).toMatchObject([7, { kind: 'status', job: 'brands-1', phase: 'running' }]);
    expect((await type('wait brands --timeout 2')).refusal).toContain("--timeout: '2' must be a duration");
  });
});
