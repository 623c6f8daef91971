import type { DescribeWorkflowExecutionResponse } from '@temporalio/client';
import { msNumberToTs } from '@temporalio/common/lib/time.js';
import { expect, it } from 'vitest';
import { waitsFor } from '../../../src/worker/control/workflow-handle.js';

type PendingActivity = NonNullable<DescribeWorkflowExecutionResponse['pendingActivities']>[number];

const now = Date.UTC(2026, 10, 21);
const [SCHEDULED, STARTED] = [1, 2];

/** An activity whose next attempt is this many seconds from now. */
const pending = (message: string, seconds: number, state = SCHEDULED) =>
  ({ state, lastFailure: { message }, scheduledTime: msNumberToTs(now + seconds * 1000) }) as PendingActivity;

it.each([
  ['waiting 3599 s: the team is blocked', 3000, 'waiting 3000 s: the team is blocked'],
  ['waiting 3599 s: the team is blocked', 4, 'the team is blocked'],
  ['GET /x: 429 (request id 1, retry in 3000 s)', 2990, 'waiting 2990 s: GET /x: 429 (request id 1)'],
  ['x.duckdb is open in process 7', 2, 'x.duckdb is open in process 7'],
])('for a failure %j whose next attempt is %i s away it shows the time left', (message, seconds, text) => {
  expect(waitsFor(pending(message, seconds), now)).toBe(text);
});

it('waitsFor shows nothing for an activity that runs', () => {
  expect(waitsFor(pending('GET /x: 500', 20, STARTED), now)).toBeNull();
});
