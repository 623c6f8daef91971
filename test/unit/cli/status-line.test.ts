import { describe, expect, it } from 'vitest';
import { statusLine } from '../../../src/cli/rows/status.js';
import { failureOf } from '../../../src/cli/shared/failure-text.js';
import { type Failure, pauseOf, toContinue } from '../../../src/core/rows/pause.js';
import { type JobStatus, JobStopped } from '../../../src/worker/config/runtime-types.js';
import { saidOfStop } from '../../../src/worker/staging/find-job.js';

const now = Date.UTC(2026, 0, 2, 12, 0);
const known: JobStatus = { job: 'q3-1', name: 'q3', phase: 'done', message: null, since: null, shown: null };
const since = now - 720_000;

it.each<[string, Partial<JobStatus>, string]>([
  ['is done', {}, 'q3 is done.'],
  ['runs', { phase: 'running' }, 'q3 is running.'],
  ['is waiting for a worker', { phase: 'waiting' }, 'q3 is waiting for a worker. To run it:\n  searchflow worker'],
  [
    'is cancelled without a worker',
    { phase: 'waiting', message: 'it was cancelled, and a worker must end it' },
    'q3 is waiting for a worker: it was cancelled, and a worker must end it. To start one:\n  searchflow worker',
  ],
  [
    'is paused by a person',
    { phase: 'paused', message: 'paused by a person', since },
    'q3 is paused since 2026-01-02 11:48 UTC (12 min): paused by a person. To resume it:\n  searchflow resume q3-1',
  ],
  [
    'is paused for a reason with its own remedy',
    {
      phase: 'paused',
      message: '$1.00 is spent',
      next: { text: 'To go on', command: 'resume q3-1 --max-cost 2' },
    },
    'q3 is paused: $1.00 is spent. To go on:\n  searchflow resume q3-1 --max-cost 2',
  ],
  [
    'is paused for a reason that names more than a command',
    {
      phase: 'paused',
      message: '$1.00 is spent',
      next: { text: 'Raise the budget, restart the worker and run', command: 'resume q3-1' },
    },
    'q3 is paused: $1.00 is spent. Raise the budget, restart the worker and run:\n  searchflow resume q3-1',
  ],
  [
    'is paused for a reason whose remedy is to resume',
    { phase: 'paused', message: 'the key is refused. Set a valid one', next: toContinue('q3-1') },
    'q3 is paused: the key is refused. Set a valid one. To resume it:\n  searchflow resume q3-1',
  ],
  [
    'is stopped',
    { phase: 'stopped', ...saidOfStop('command-ended', 'q3-1') },
    'q3 is stopped: its command ended. To resume it (with --detach: on a worker):\n  searchflow resume q3-1',
  ],
  [
    'failed, in a sentence of its own',
    { phase: 'failed', message: 'The disk is full.' },
    'q3 failed: The disk is full. To resume it:\n  searchflow resume q3-1',
  ],
  [
    'is stopped as a run of a schedule',
    {
      phase: 'stopped',
      schedule: "ann's",
      message: 'refused',
      next: { text: 'The next run continues', command: null },
    },
    String.raw`q3 is stopped: refused. The next run continues. To run it now:|  searchflow schedule trigger 'ann'\''s'`
      .split('|')
      .join('\n'),
  ],
  [
    'is paused as a run of a schedule',
    { phase: 'paused', schedule: 'daily', message: 'paused by a person' },
    'q3 is paused: paused by a person. To resume it:\n  searchflow resume q3-1',
  ],
  ['is cancelled', { phase: 'cancelled' }, 'q3 is cancelled. To resume it:\n  searchflow resume q3-1'],
])('a job that %s is shown in one line with one command to continue', (_, changes, line) => {
  expect(statusLine({ ...known, ...changes }, now)).toBe(line);
});

describe('a name that a shell would read in another way', () => {
  const job = "ann's rows (2.)";
  const typed = String.raw`searchflow resume 'ann'\''s rows (2.)'`;
  const paused = (type: string, details?: object) => pauseOf({ type, message: 'refused', details } as Failure, job, 1);

  it('is quoted in the command of a status and of a failure', () => {
    expect(statusLine({ ...known, job, name: job, phase: 'stopped' }, now)).toBe(
      `${job} is stopped. To resume it:\n  ${typed}`,
    );
    expect(failureOf(new JobStopped('its command ended', { job })).message).toContain(`To resume it:\n  ${typed}`);
  });

  it('is quoted in the reason of a pause, which is shown with one command on its own line', () => {
    const budget = paused('BudgetExceeded', { scope: 'job', capMicros: 1e6, remainingMicros: 0, resetsAt: null });
    expect(statusLine({ ...known, job, phase: 'paused', ...budget }, now)).toMatch(
      /resume:\n {2}searchflow resume 'ann'\\''s rows \(2\.\)' --max-cost [\d.]+$/,
    );
    const key = paused('Unauthorized');
    expect(key?.message).toMatch(/Set a valid key in SEARCHFLOW_API_KEY$/);
    const line = statusLine({ ...known, job, phase: 'paused', ...key }, now);
    expect(line.endsWith(`SEARCHFLOW_API_KEY. To resume it:\n  ${typed}`)).toBe(true);
  });
});
