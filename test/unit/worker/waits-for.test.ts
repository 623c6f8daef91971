import { hostname } from 'node:os';
import type { DescribeWorkflowExecutionResponse } from '@temporalio/client';
import type { ApplicationFailure } from '@temporalio/common';
import { defaultDataConverter, defaultPayloadConverter } from '@temporalio/common';
import { msNumberToTs } from '@temporalio/common/lib/time.js';
import { expect, it } from 'vitest';
import { toFailure, waiting } from '../../../src/activities/call/failure.js';
import { WarehouseBusy } from '../../../src/core/rows/warehouse-errors.js';
import { pendingActivity } from '../../../src/worker/control/pending-activity.js';

type PendingActivity = NonNullable<DescribeWorkflowExecutionResponse['pendingActivities']>[number];

const now = Date.UTC(2026, 10, 21);
const [SCHEDULED, STARTED] = [1, 2];

const read = (activity: PendingActivity) => pendingActivity(defaultDataConverter, activity, now);

/** An activity whose next attempt is this many seconds from now. */
const pending = (message: string, seconds: number, state = SCHEDULED) =>
  ({ state, lastFailure: { message }, scheduledTime: msNumberToTs(now + seconds * 1000) }) as PendingActivity;

const pendingAfter = ({ message, details }: ApplicationFailure, seconds: number) => {
  const payloads = details?.map((detail) => defaultPayloadConverter.toPayload(detail));
  const lastFailure = { message, applicationFailureInfo: { details: { payloads } } };
  return { ...pending(message, seconds), lastFailure } as PendingActivity;
};

it.each([
  ['GET /x: 429 (request id 1, retry in 3000 s)', 2990, 'waiting 2990 s: GET /x: 429 (request id 1, retry in 3000 s)'],
  ['x.duckdb is open in process 7', 2, 'x.duckdb is open in process 7'],
])('for a failure %j whose next attempt is %i s away it shows the time left', async (message, seconds, text) => {
  expect(await read(pending(message, seconds))).toMatchObject({ waitsFor: text, refusal: null });
});

it.each([
  [3000, 'waiting 3000 s: the team is blocked'],
  [4, 'the team is blocked'],
])('a wait for the team shows the time left, %i s', async (seconds, text) => {
  expect(await read(pendingAfter(waiting(3_599_000, 'the team is blocked'), seconds))).toMatchObject({
    waitsFor: text,
  });
});

it('shows no wait of an activity that runs', async () => {
  expect(await read(pending('GET /x: 500', 20, STARTED))).toMatchObject({ waitsFor: null });
});

it('a worker that cannot load is reported by its sentence, unless it is this process; its work waits for another worker', async () => {
  const refused = (pid: number) => {
    const waits = 'a worker that can log in to the warehouse';
    const failure = toFailure(
      new WarehouseBusy('postgres-refused', `A worker (PID ${pid}) cannot load`, null, {
        host: hostname(),
        pid,
        waitsFor: waits,
      }),
    );
    return pendingAfter(failure as ApplicationFailure, 2);
  };
  expect(await read(refused(1))).toMatchObject({
    waitsFor: 'a worker that can log in to the warehouse',
    refusal: 'A worker (PID 1) cannot load',
  });
  expect(await read(refused(process.pid))).toMatchObject({ refusal: null });
});
