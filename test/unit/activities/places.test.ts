import { ApplicationFailure } from '@temporalio/common';
import { expect, it } from 'vitest';
import { Places } from '../../../src/activities/call/places.js';
import type { Grant, Limiter, RateCost } from '../../../src/core/limiter/limiter.js';
import { flatProfile } from '../../../src/core/limiter/rate.js';
import { deferred } from '../../../src/core/processes/deferred.js';
import { idleView } from '../../support/idle-view.js';

const search: RateCost = { rateClass: 'search', weight: 1 };
const grant: Grant = { rateCost: search, startAt: 0, reservedAt: 0 };
const never = new AbortController().signal;
const caller = (id: string, isRetry = false) => ({ id, isRetry });

/** A limit of 10 a second, whose turns the test gives. */
function manual() {
  const queue: ReturnType<typeof deferred<Grant>>[] = [];
  const left: unknown[] = [];
  const state = { blockedUntil: null as number | null, elsewhere: 0 };
  const limiter: Pick<Limiter, 'acquire' | 'view'> = {
    acquire: (_cost, signal) => {
      const turn = deferred<Grant>();
      queue.push(turn);
      signal?.addEventListener('abort', () => {
        left.push(signal.reason);
        turn.reject(signal.reason);
      });
      return turn.promise;
    },
    view: async () => ({
      ...idleView(flatProfile(10)),
      waiting: queue.length + state.elsewhere,
      blockedUntil: state.blockedUntil,
      blockReason: state.blockedUntil === null ? null : 'POST /search: 429',
    }),
  };
  const places = new Places(limiter as Limiter);
  return {
    ...{ queue, left, state },
    turn: (id: string, isRetry = false, signal = never, keeps = true) =>
      places.turn(search, caller(id, isRetry), signal, () => keeps),
    give: () => queue.shift()?.resolve(grant),
  };
}

const failureOf = async (turn: Promise<Grant>) => {
  const error = await turn.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApplicationFailure)) throw new Error('the call did not leave its wait to Temporal');
  return error;
};

it('of 100 calls at 10 a second, those whose turn is near keep their slot, and the others get the time of their turn', async () => {
  const { turn, give } = manual();
  const calls = Array.from({ length: 100 }, (_, index) => turn(`call ${index}`));
  const far = await Promise.all(calls.slice(51).map(failureOf));
  expect(far[0]).toMatchObject({ type: 'Waiting', category: 'BENIGN', nextRetryDelay: 4100 });
  expect(far.at(-1)).toMatchObject({
    nextRetryDelay: 8900,
    details: [{ waitMs: 8900, status: null, requestId: null }],
  });
  for (let nth = 0; nth < 51; nth++) give();
  expect(await Promise.all(calls.slice(0, 51))).toHaveLength(51);
});

it('a call that comes back has kept its place in the queue', async () => {
  const { turn, give, queue } = manual();
  const calls = Array.from({ length: 60 }, (_, index) => turn(`call ${index}`));
  await Promise.all(calls.slice(51).map(failureOf));
  for (let nth = 0; nth < 51; nth++) give();
  const back = turn('call 51', true);
  expect(queue).toHaveLength(9);
  give();
  expect(await back).toBe(grant);
});

it('a turn whose call does not come goes to another late call, and to no new call', async () => {
  const { turn, give, queue } = manual();
  const calls = Array.from({ length: 53 }, (_, index) => turn(`call ${index}`));
  await Promise.all(calls.slice(51).map(failureOf));
  for (let nth = 0; nth < 53; nth++) give();
  await Promise.all(calls.slice(0, 51));
  void turn('a new call');
  expect(queue).toHaveLength(1);
  expect(await turn('a late call of another worker', true)).toBe(grant);
  expect(queue).toHaveLength(1);
});

it('during a long block, a call waits in Temporal until the end of the block', async () => {
  const { turn, state } = manual();
  state.blockedUntil = Date.now() + 4_000_000;
  const { message, nextRetryDelay } = await failureOf(turn('call'));
  expect(message).toContain('POST /search: 429');
  expect(Number(nextRetryDelay)).toBeGreaterThan(3_990_000);
});

it('a cancelled call leaves the queue; one whose worker only stops waiting keeps its place', async () => {
  const { turn, left, queue } = manual();
  const cancelled = new AbortController();
  const gone = turn('gone', false, cancelled.signal, false);
  cancelled.abort(new Error('cancelled'));
  await expect(gone).rejects.toThrow('cancelled');
  expect(left).toHaveLength(1);
  const stopped = new AbortController();
  const kept = turn('kept', false, stopped.signal, true);
  stopped.abort(new Error('yielded'));
  await expect(kept).rejects.toThrow('yielded');
  expect(left).toHaveLength(1);
  void turn('kept', true);
  expect(queue).toHaveLength(2);
});

it('a turn whose call does not come goes to a call that waits here', async () => {
  const { turn, give, left } = manual();
  const calls = Array.from({ length: 52 }, (_, index) => turn(`call ${index}`));
  await failureOf(calls[51] as Promise<Grant>);
  for (let nth = 0; nth < 51; nth++) give();
  await Promise.all(calls.slice(0, 51));
  const fresh = turn('fresh');
  give();
  expect(await fresh).toBe(grant);
  expect(left).toEqual([new Error('it took another turn')]);
});

it('a call that comes back to another process waits behind those here, and not behind calls that wait in Temporal', async () => {
  const { turn, give } = manual();
  const calls = Array.from({ length: 120 }, (_, index) => turn(`call ${index}`));
  await Promise.all(calls.slice(51).map(failureOf));
  for (let nth = 0; nth < 10; nth++) give();
  await Promise.all(calls.slice(0, 10));
  const back = turn('from elsewhere', true);
  const soon = new Promise((resolve) => setImmediate(() => resolve('waits')));
  expect(await Promise.race([failureOf(back), soon])).toBe('waits');
});
