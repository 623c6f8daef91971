import { describe, expect, it, vi } from 'vitest';
import { cancellation } from '../../../src/activities/base/cancellation.js';
import { AccountBreaker, CircuitBreaker } from '../../../src/activities/call/circuit-breaker.js';
import { InFlight } from '../../../src/activities/call/in-flight.js';
import { BudgetGates } from '../../../src/activities/purchase/budget-gate.js';
import { followTime } from '../../../src/activities/purchase/long-running.js';
import { PurchaseStats, Waits } from '../../../src/activities/purchase/purchase-stats.js';
import { OverBudget } from '../../../src/core/purchase/spend.js';
import { quiet } from '../../support/activities/activity-setting.js';

const never = new AbortController().signal;

it('a refused key or an empty account stops all work that started before a resume, and no later work', () => {
  const accountBreaker = new AccountBreaker();
  const refused = new Error('refused');
  expect(() => accountBreaker.check(0)).not.toThrow();
  accountBreaker.trip(refused, 1000);
  expect(() => accountBreaker.check(999)).toThrow(refused);
  expect(() => accountBreaker.check(1000)).toThrow(refused);
  expect(() => accountBreaker.check(1001)).not.toThrow();
});

describe('the permits of paid requests in flight', () => {
  /** Waits for a permit, then adds the name to `inside`. */
  const entering = (permits: InFlight, inside: string[], name: string, signal = never, group?: string) =>
    permits.enter(signal, group).then(() => void inside.push(name));
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

  it('are as many as allowed, and go to the longest waiting request', async () => {
    const permits = new InFlight(2);
    const inside: string[] = [];
    for (const name of ['a', 'b', 'c', 'd']) void entering(permits, inside, name);
    await nextTurn();
    expect(inside).toEqual(['a', 'b']);
    permits.leave();
    await nextTurn();
    expect(inside).toEqual(['a', 'b', 'c']);
    permits.leave();
    await nextTurn();
    expect(inside).toEqual(['a', 'b', 'c', 'd']);
    permits.leave();
    permits.leave();
    for (const name of ['e', 'f', 'g']) void entering(permits, inside, name);
    await nextTurn();
    expect(inside.slice(4)).toEqual(['e', 'f']);
  });

  it('are not lost to a request that is cancelled while it waits', async () => {
    const permits = new InFlight(1);
    const inside: string[] = [];
    await entering(permits, inside, 'a');
    const [first, second] = [new AbortController(), new AbortController()];
    const [gone, kept] = [entering(permits, inside, 'b', first.signal), entering(permits, inside, 'c', second.signal)];
    first.abort(new Error('stopped'));
    await expect(gone).rejects.toThrow('stopped');
    permits.leave();
    await kept;
    expect(inside).toEqual(['a', 'c']);
    second.abort(new Error('too late'));
    permits.leave();
    await entering(permits, inside, 'd');
    expect(inside).toEqual(['a', 'c', 'd']);
  });

  it('are not taken by a request that was cancelled before', async () => {
    const permits = new InFlight(1);
    await expect(permits.enter(AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
    await permits.enter(never);
  });
});

describe('a service that fails every paid call', () => {
  /** The health of a service after this many failures in a row, with a clock that the test moves. */
  function failing(times: number) {
    const clock = { now: 5000 };
    const health = new CircuitBreaker(() => clock.now);
    for (let count = 0; count < times; count++) health.failed('well');
    return { health, clock };
  }

  it('counts as failing after eight failures in a row, not after seven', () => {
    expect(failing(7).health.holdMs).toBe(0);
    expect(failing(8).health.holdMs).toBe(1000);
  });

  it('loses its count of failures at one answer', async () => {
    const { health } = failing(7);
    health.succeeded();
    for (let count = 0; count < 7; count++) health.failed('well');
    expect(await health.pass(never)).toBe('well');
    health.failed('well');
    expect(health.holdMs).toBe(1000);
  });

  it('is tried by one call after a second, then after twice as long each time, five minutes at most', async () => {
    const { health, clock } = failing(8);
    for (const hold of [1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000]) {
      expect(health.holdMs).toBe(hold);
      // A call that began before the failures (`well`) does not lengthen the wait when it fails.
      health.failed('well');
      expect(health.holdMs).toBe(hold);
      clock.now += hold;
      expect(health.holdMs).toBe(0);
      expect(await health.pass(never)).toBe('try');
      health.failed('try');
    }
  });

  it('is tried by one call at a time, and by the next if that one had no result', async () => {
    const { health, clock } = failing(8);
    clock.now += 1000;
    expect(await health.pass(never)).toBe('try');
    const second = health.pass(never);
    expect(await Promise.race([second, new Promise((resolve) => setImmediate(resolve, 'waits'))])).toBe('waits');
    health.undecided('well');
    health.undecided('try');
    expect(await second).toBe('try');
  });

  it('is available to all waiting calls as soon as a try is answered', async () => {
    const { health, clock } = failing(8);
    clock.now += 1000;
    const tried = await health.pass(never);
    const others = [health.pass(never), health.pass(never)];
    expect(tried).toBe('try');
    health.succeeded();
    expect(await Promise.all(others)).toEqual(['well', 'well']);
    expect(health.holdMs).toBe(0);
  });

  it('is not waited for by a cancelled call', async () => {
    const { health } = failing(8);
    const stop = new AbortController();
    const waiting = health.pass(stop.signal);
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    await expect(health.pass(stop.signal)).rejects.toThrow('stopped');
  });
});

describe('the maximum cost of one purchase', () => {
  const stats = Object.assign(new PurchaseStats(), { costMicros: 500, openMicros: 200, unknownMicros: 100 });

  const price = (estimateMicros: number) => ({ estimateMicros, listMicros: estimateMicros });

  it('limits its cost, its money in flight and its unknown outcomes together', () => {
    expect(stats.reserve(1000, price(200))).toBe(200);
    expect(stats.reserve(1000, price(201))).toMatchObject({ capMicros: 1000, remainingMicros: 200, openMicros: 200 });
    expect(stats.reserve(600, price(1))).toMatchObject({ remainingMicros: 0 });
  });

  it('lets two requests fly until three answers have shown what they cost', () => {
    const first = new PurchaseStats();
    const isAllowed = () => typeof first.reserve(1000, price(10)) === 'number';
    const allowed = [isAllowed()];
    for (let count = 0; count < 2; count++) {
      first.opened(10);
      allowed.push(isAllowed());
    }
    expect(first.reserve(1000, price(10))).toMatchObject({ unproven: true });
    for (let count = 0; count < 3; count++) {
      first.learn(10, 10, [{ status: 'success' }]);
      allowed.push(isAllowed());
    }
    expect(allowed).toEqual([true, true, false, false, false, true]);
  });

  it('is optional', () => {
    expect(stats.reserve(undefined, price(1e12))).toBe(1e12);
  });
});

it('a waiting part of a purchase is counted while it waits, and the wait that ends first is shown', async () => {
  const waits = new Waits();
  expect([waits.size, waits.first]).toEqual([0, null]);
  let end: (() => void) | undefined;
  const open = waits.during(new Promise<void>((resolve) => (end = resolve)), 'an unknown time');
  const stop = new AbortController();
  const long = waits.sleep(60_000, 'long', stop.signal);
  const longer = waits.sleep(90_000, 'longer', stop.signal);
  expect([waits.size, waits.first?.why]).toEqual([3, 'long']);
  expect((waits.first?.until ?? 0) - performance.now()).toBeGreaterThan(1000);
  stop.abort(new Error('stopped'));
  await expect(long).rejects.toThrow();
  await expect(longer).rejects.toThrow();
  expect([waits.size, waits.first]).toEqual([1, { until: Number.POSITIVE_INFINITY, why: 'an unknown time' }]);
  end?.();
  await open;
  expect(waits.size).toBe(0);
});

it('the budget gate of a job opens once more requests in a row fit than may be in flight without an answer, and counts anew after a refusal', () => {
  const gate = new BudgetGates().enter({ mostMicros: 5 });
  const granted = (times: number) => {
    for (let count = 0; count < times; count++) gate.granted();
    return gate.short;
  };
  expect([granted(2), granted(1)]).toEqual([true, false]);
  const over = (unproven: boolean) => new OverBudget('call', 5, 0, 5, null, { unproven });
  gate.refused(over(true));
  expect(gate).toMatchObject({ short: true, why: expect.stringContaining('the first answers') });
  expect(granted(2)).toBe(true);
  gate.refused(over(false));
  expect(gate.why).not.toContain('the first answers');
  expect([granted(2), granted(1)]).toEqual([true, false]);
});

describe('the signals of an activity', () => {
  /** Seconds from a cancellation until each signal fires. `isEarly`: the cancellation comes before the activity begins. */
  async function seconds(isEarly: boolean, timeUpMs?: number) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const environment = quiet();
    if (isEarly) environment.cancel();
    const fired: Record<string, number> = {};
    await environment.run(async () => {
      const { stop, cut, done } = cancellation(timeUpMs === undefined ? {} : { timeUpMs });
      for (let second = 0; second < 30; second++) {
        if (!isEarly && second === 0 && timeUpMs === undefined) environment.cancel();
        if (stop.aborted) fired.stop ??= second;
        if (cut.aborted) fired.cut ??= second;
        vi.advanceTimersByTime(1000);
      }
      done();
    });
    vi.useRealTimers();
    return fired;
  }

  it('stop it at once when it is cancelled, and cut its requests ten seconds later', async () => {
    expect(await seconds(false)).toEqual({ stop: 0, cut: 10 });
    // The attempt began when the job was already being cancelled.
    expect(await seconds(true)).toEqual({ stop: 0, cut: 10 });
  });

  it('stop it when its time is up, and cut nothing', async () => {
    expect(await seconds(false, 20_000)).toEqual({ stop: 20 });
  });
});

describe('the time for which a run at the service is followed', () => {
  const MINUTE = 60_000;

  it('begins with its start, and again with each request for failed units', () => {
    const time = (now: number, retryBefore?: number) =>
      followTime({ at: 5 * MINUTE, now, maxRunMs: 3 * MINUTE, retryBefore });
    expect(time(6 * MINUTE)).toEqual({ leftMs: 2 * MINUTE, startedAt: 5 * MINUTE });
    expect(time(20 * MINUTE, 19 * MINUTE)).toEqual({ leftMs: 2 * MINUTE, startedAt: 5 * MINUTE });
    // A request to retry that came before the start does not change the time.
    expect(time(6 * MINUTE, MINUTE)).toEqual({ leftMs: 2 * MINUTE, startedAt: 5 * MINUTE });
  });

  it('is that of one poll for an overdue run, and has no end without a limit', () => {
    const overdue = { at: 5 * MINUTE, now: 9 * MINUTE };
    expect(followTime({ ...overdue, maxRunMs: 3 * MINUTE })).toEqual({ leftMs: 3000, startedAt: 9 * MINUTE });
    expect(followTime(overdue)).toEqual({ leftMs: Number.POSITIVE_INFINITY, startedAt: 5 * MINUTE });
  });
});

describe('a wait for a slot', () => {
  const waits = (leftRunning: number, elsewhere: number) => {
    const stats = new PurchaseStats();
    stats.slotWaits.add({ at: 0 });
    return stats.slotWait({ inUse: { limit: 50, held: 50, waiting: 1, leftRunning, elsewhere } }, 0);
  };
  const full = "a free slot: the team's limit of concurrent runs is reached";
  const how = 'Wait until such runs end, or end some: searchflow agent cancel ID (ids: searchflow agent list)';

  it('names the slots of runs that were left running or started elsewhere, and the command that ends such a run', () => {
    expect(waits(0, 0)).toBe(full);
    expect(waits(50, 0)).toBe(`${full}; 50 of 50 slots held by runs left running past --max-run-time. ${how}`);
    expect(waits(3, 2)).toBe(
      `${full}; 3 of 50 slots held by runs left running past --max-run-time, 2 of 50 slots held by runs started elsewhere. ${how}`,
    );
  });

  it('is not reported where no unit waits', () => {
    expect(new PurchaseStats().slotWait({}, 0)).toBeNull();
  });
});
