import { describe, expect, it, vi } from 'vitest';
import { InFlight } from '../../../src/activities/call/in-flight.js';
import type { Progress, Unit } from '../../../src/activities/purchase/purchase-request.js';
import { deferred } from '../../../src/core/processes/deferred.js';
import { OverBudget, type SpendCap } from '../../../src/core/purchase/spend.js';
import {
  cutOff,
  failure,
  good,
  keyOf,
  type Setting,
  setting,
  success,
  units,
} from '../../support/activities/purchase-setting.js';

const budget = (limitMicros: number): SpendCap => ({ bookPrefix: 'job/', limitMicros });

/** Runs a purchase until its budget refuses it. */
async function overBudget(s: Setting, ...bought: Parameters<Setting['buy']>): Promise<OverBudget> {
  const error = await s.buy(...bought).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(OverBudget);
  return error as OverBudget;
}

const sizes = (s: Setting) => s.sent.map((batch) => batch.length);
const spent = async (s: Setting) => (await s.journal.totals('job/')).costMicros;

/** A service whose first answer is lost. `micros`: its price of a unit. */
const firstLost = (s: Setting, micros: number) => async (batch: readonly Unit[]) => {
  if (s.sent.length === 1) throw failure(cutOff);
  return success(batch, micros * batch.length);
};

/** Returns a promise that resolves when a purchase reports that it waits for its budget. */
function watching() {
  const waits = deferred<void>();
  const progress = ({ waitingFor }: Progress) => {
    if (waitingFor?.includes('budget')) waits.resolve();
  };
  return { watched: { progress }, waits: waits.promise };
}

describe('a purchase with a budget', () => {
  it('splits the last request to fit the remaining budget, and spends no micro-dollar too much', async () => {
    const s = await setting();
    const wanted = { units: units(40), unitsPerRequest: 10, cap: budget(27_500) };
    expect(await overBudget(s, good, wanted)).toMatchObject({ scope: 'job', remainingMicros: 500, openMicros: 0 });
    expect(sizes(s).sort()).toEqual([10, 10, 7]);
    expect(await spent(s)).toBe(27_000);
    // Another purchase can claim the units that this purchase could not pay for.
    const keys = units(40).map(({ key }) => key);
    expect((await s.journal.claim(keys, 'next')).mine).toHaveLength(13);
  });

  it('continues after the budget was raised, and buys nothing twice', async () => {
    const s = await setting();
    const wanted = (limit: number) => ({ units: units(8), unitsPerRequest: 4, cap: budget(limit) });
    await overBudget(s, good, wanted(6000));
    expect(await s.buy(good, wanted(8000))).toMatchObject({ complete: true, bought: 2 });
    expect(s.sent.flat().sort()).toEqual(units(8).map((one) => one.unit));
  });

  it('waits for the money in flight, which failed pages give back, before it splits a request', async () => {
    const s = await setting();
    const { watched, waits } = watching();
    const send = async (batch: readonly Unit[]) => {
      if (s.sent.length === 1) await waits;
      return success(batch, 500 * batch.length);
    };
    const wanted = { units: units(16), unitsPerRequest: 8, cap: budget(8000) };
    await expect(s.buy(send, wanted, watched)).rejects.toMatchObject({ remainingMicros: 500 });
    expect(sizes(s)).toEqual([8, 4, 2, 1]);
    expect(await spent(s)).toBe(7500);
  });

  it('checks the budget with one request at a time while it waits', async () => {
    const s = await setting();
    const { watched, waits } = watching();
    const acquire = vi.spyOn(s.limiter, 'acquire');
    const send = (batch: readonly Unit[]) => waits.then(() => success(batch, 0));
    const wanted = { units: units(40), unitsPerRequest: 1, cap: budget(1000) };
    expect(await s.buy(send, wanted, watched)).toMatchObject({ complete: true, costMicros: 0 });
    // Each of the 40 requests asks at most once before the budget is short and once when money is free; the other 40 are polls in between.
    expect(acquire.mock.calls.length).toBeLessThan(2 * 40 + 40);
  });

  it('counts a lost answer as spent', async () => {
    const s = await setting();
    const over = await overBudget(s, firstLost(s, 1000), { cap: budget(5000) }, { random: () => -1.5 });
    expect(over).toMatchObject({ remainingMicros: 0 });
    expect(sizes(s)).toEqual([3, 2]);
    expect((await s.journal.totals('job/')).unknown).toMatchObject([{ estimateMicros: 3000 }]);
  });

  it('charges the estimate if the answer has no cost', async () => {
    const s = await setting();
    const wanted = { units: units(4), unitsPerRequest: 1, cap: budget(3000) };
    await overBudget(s, async (batch) => success(batch, null), wanted);
    expect(await spent(s)).toBe(3000);
  });

  it('shares the budget among purchases of one job at the same time, and spends it once', async () => {
    const s = await setting();
    const send = async (batch: readonly Unit[]) => success(batch, 900 * batch.length);
    const slices = Array.from({ length: 4 }, (_, slice) => {
      const wanted = { segment: `job/gen/00000${slice}`, units: units(20, 20 * slice), unitsPerRequest: 5 };
      return s.buy(send, { ...wanted, cap: budget(50_000) });
    });
    const ends = await Promise.allSettled(slices);
    expect(ends.some(({ status }) => status === 'rejected')).toBe(true);
    for (const end of ends) if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(OverBudget);
    const micros = await spent(s);
    expect(micros).toBeLessThanOrEqual(50_000);
    expect(micros).toBeGreaterThan(50_000 - 1000);
    expect(new Set(s.sent.flat()).size).toBe(s.sent.flat().length);
  });

  it('respects the daily budget of the team without a budget of its own, and reports when the day ends', async () => {
    const s = await setting();
    await s.journal.setCaps({ dayMicros: 2000, monthMicros: null });
    const over = await overBudget(s, good, { segment: 'calls/2026-11-21' });
    expect(over).toMatchObject({ scope: 'day', remainingMicros: 0 });
    expect(over.message).toMatch(/budget of \$0\.002 a day is used up until \d{4}-\d\d-\d\dT00:00:00/);
    expect(sizes(s)).toEqual([2]);
  });

  it('respects its own maximum cost, lost answers included', async () => {
    const s = await setting();
    const wanted = { units: units(9), unitsPerRequest: 3, mostMicros: 7000 };
    const alone = { inFlight: new InFlight(1), random: () => -1.5 };
    const over = await overBudget(s, firstLost(s, 800), wanted, alone);
    expect(over).toMatchObject({ scope: 'call', capMicros: 7000, remainingMicros: 800 });
    const { costMicros, unknown } = await s.journal.totals('job/');
    expect([costMicros, unknown.length]).toEqual([3200, 1]);
  });

  it('stops waiting for money when cancelled, and releases its units', async () => {
    const s = await setting();
    const { watched, waits } = watching();
    const held = deferred<void>();
    const send = (batch: readonly Unit[]) => held.promise.then(() => success(batch));
    const running = s.buy(send, { units: units(4), unitsPerRequest: 2, cap: budget(2000) }, watched);
    await waits;
    await expect.poll(() => s.sent.length, { timeout: 20_000 }).toBe(1);
    s.stop.abort(new Error('drain'));
    held.resolve();
    expect(await running).toMatchObject({ complete: false, bought: 2, unknownOutcomes: 0 });
    expect((await s.journal.claim([keyOf('u0'), keyOf('u3')], 'next')).mine).toMatchObject([{ key: keyOf('u3') }]);
  });
});
