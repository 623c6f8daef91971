import { expect, it } from 'vitest';
import { statusLine } from '../../../src/cli/rows/status-line.js';
import type { JobStatus } from '../../../src/worker/config/runtime-types.js';

const now = Date.UTC(2026, 0, 2, 12, 0);
const known: JobStatus = { job: 'q3-1', name: 'q3', phase: 'done', message: null, since: null, shown: null };
const since = now - 720_000;

it.each<[string, Partial<JobStatus>, string]>([
  ['is done', {}, 'q3 is done.'],
  ['runs', { phase: 'running' }, 'q3 is running.'],
  ['is waiting for a worker', { phase: 'waiting' }, 'q3 is waiting for a worker. To run it:\n  searchflow worker'],
  [
    'is paused by a person',
    { phase: 'paused', message: 'paused by a person', since },
    'q3 is paused since 2026-01-02 11:48 UTC (12 min): paused by a person. To resume it:\n  searchflow resume q3-1',
  ],
  [
    'is paused for a reason with its own remedy',
    { phase: 'paused', message: '$1.00 is spent; go on: searchflow resume q3-1 --max-cost 2' },
    'q3 is paused: $1.00 is spent; go on:\n  searchflow resume q3-1 --max-cost 2',
  ],
  [
    'is paused for a reason that names more than a command',
    { phase: 'paused', message: 'raise the budget, restart the worker and run: searchflow resume q3-1' },
    'q3 is paused: raise the budget, restart the worker and run:\n  searchflow resume q3-1',
  ],
  [
    'is paused for a reason whose remedy is to resume',
    { phase: 'paused', message: 'the key is refused. Set a valid one, then resume q3-1' },
    'q3 is paused: the key is refused. Set a valid one. To resume it:\n  searchflow resume q3-1',
  ],
  [
    'is stopped',
    { phase: 'stopped', message: 'its command ended' },
    'q3 is stopped: its command ended. To resume it:\n  searchflow resume q3-1',
  ],
  [
    'failed, in a sentence of its own',
    { phase: 'failed', message: 'The disk is full.' },
    'q3 failed: The disk is full. To resume it:\n  searchflow resume q3-1',
  ],
  ['is cancelled', { phase: 'cancelled' }, 'q3 is cancelled. To resume it:\n  searchflow resume q3-1'],
])('a job that %s is shown in one line with one command to continue', (_, changes, line) => {
  expect(statusLine({ ...known, ...changes }, now)).toBe(line);
});
