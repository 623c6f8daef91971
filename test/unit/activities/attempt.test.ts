import { describe, expect, it, vi } from 'vitest';
import { attempt, type LostStart } from '../../../src/activities/purchase/attempt.js';
import { BudgetGate, RequestBudget } from '../../../src/activities/purchase/budget-gate.js';
import type { LongRunning, PurchaseRequest, Unit } from '../../../src/activities/purchase/purchase-request.js';
import { PurchaseStats, Waits } from '../../../src/activities/purchase/purchase-stats.js';
import { createAgentRunEndpoint } from '../../../src/api/endpoints/agent-runs.js';
import { ApiError } from '../../../src/api/wire/errors.js';
import { OverBudget } from '../../../src/core/purchase/spend.js';
import {
  answered,
  cutOff,
  failure,
  good,
  setting,
  success,
  unit,
  units,
} from '../../support/activities/purchase-setting.js';

/** Makes one attempt to buy two units, or one unit that is a run. `granted` is called between the intent and the start. */
async function make(changes: Partial<PurchaseRequest> = {}, granted: () => void = () => undefined, of = setting()) {
  const s = await of;
  const stats = new PurchaseStats();
  const purchaseRequest = s.request(good, changes);
  const context = { ...s, ...s.control, purchaseRequest, stats, gate: new BudgetGate(false) };
  const batch = { units: changes.longRunning ? units(1) : units(2), limitMicros: null };
  const budget = { enter: async () => undefined, granted };
  const end = await attempt(context, batch, budget).catch((error: unknown) => ({ thrown: error }));
  return { ...s, stats, end, totals: await s.journal.totals('job/') };
}

/** A service with runs; `start` decides how starts end. It also records the slots that are taken. */
function runs(start: LongRunning['start']) {
  const taken = new Set<string>();
  const slots = {
    take: async (owner: string) => void taken.add(owner),
    name: async () => undefined,
    free: async (owner: string) => void taken.delete(owner),
    refused: async () => undefined,
  };
  const follow = async ([one]: readonly Unit[]) => success([one as Unit]);
  const longRunning = { start, follow, find: async () => null, bound: () => null, startsNothing: false, slots };
  return { taken, longRunning: longRunning as unknown as LongRunning };
}

describe('an attempt that is not sent', () => {
  it('for a refused key writes no intent', async () => {
    const s = await setting();
    const refused = new Error('401');
    s.accountBreaker.trip(refused, 1);
    const intend = vi.spyOn(s.journal, 'intend');
    const { end, sent } = await make({}, () => expect.unreachable(), Promise.resolve(s));
    expect(end).toEqual({ thrown: refused });
    expect(sent).toEqual([]);
    expect(intend).not.toHaveBeenCalled();
  });

  it('because the key was refused meanwhile, or a block began, costs nothing and is no unknown outcome', async () => {
    const s = await setting();
    const late = await make({}, () => s.accountBreaker.trip(new Error('401'), 1), Promise.resolve(s));
    expect(late.end).toMatchObject({ thrown: { message: '401' } });
    const other = await setting();
    const blocked = await make({}, () => void other.limiter.block(20, 'refused'), Promise.resolve(other));
    expect(blocked.end).toEqual({ type: 'blocked' });
    for (const { sent, stats, totals } of [late, blocked]) {
      expect(sent).toEqual([]);
      expect(stats).toMatchObject({ open: 0, openMicros: 0, unknownOutcomes: 0, unknownMicros: 0 });
      expect(totals).toMatchObject({ openMicros: 0, unknown: [] });
    }
  });

  it('for the budget of its job gives back what it reserved under its own maximum', async () => {
    const { end, stats } = await make({ mostMicros: 5000, cap: { bookPrefix: 'job/', limitMicros: 1500 } });
    expect(end).toMatchObject({ type: 'overBudget', over: expect.any(OverBudget) });
    expect(stats).toMatchObject({ open: 0, openMicros: 0 });
  });
});

describe('an attempt that was sent', () => {
  it('wrote its intent shortly before its start, so that a kill finds few intents of unsent requests', async () => {
    const s = await setting();
    const startAt = performance.now() + 240;
    const grant = { rateCost: { rateClass: 'contents', weight: 1 }, startAt, reservedAt: startAt };
    vi.spyOn(s.limiter, 'acquire').mockResolvedValue(grant);
    const intendedAt: number[] = [];
    await make({}, () => void intendedAt.push(performance.now()), Promise.resolve(s));
    expect(intendedAt[0]).toBeGreaterThan(startAt - 150);
    expect(s.sent).toHaveLength(1);
  });

  it('counts units without a result as failed, at no cost', async () => {
    const send = async (batch: readonly Unit[]) => {
      const { units: all, ...answer } = success(batch, 1000);
      return { ...answer, units: all.map((one, index) => (index === 0 ? one : { ...one, status: 'error' as const })) };
    };
    const { stats } = await make({ send });
    expect(stats).toMatchObject({ requests: 1, bought: 2, failed: 1, landed: 2, costMicros: 1000 });
  });

  it('writes its answer again if the disk was full for a moment', async () => {
    const s = await setting();
    vi.spyOn(s.journal, 'land').mockRejectedValueOnce(new Error('ENOSPC'));
    const { end, totals } = await make({}, () => undefined, Promise.resolve(s));
    expect(end).toEqual({ type: 'landed' });
    expect(totals).toMatchObject({ costMicros: 2000, openMicros: 0, unknown: [] });
  });

  it('names at most 64 characters of its tier', async () => {
    const s = await setting();
    const intend = vi.spyOn(s.journal, 'intend');
    await make({ tier: () => 'x'.repeat(100) }, () => undefined, Promise.resolve(s));
    expect(intend.mock.calls[0]?.[0].tier).toBe('x'.repeat(64));
  });

  it('and got an answer that cannot be read counts at its estimate', async () => {
    const unreadable = failure({ ...answered(200), wrongShape: true });
    const send = () => Promise.reject(unreadable);
    expect(unreadable.verdict.type).toBe('ResponseShape');
    const { end, stats, totals } = await make({ send });
    expect(end).toEqual({ type: 'landed' });
    expect(stats).toMatchObject({ bought: 2, failed: 2, costMicros: 2000 });
    expect(totals.costMicros).toBe(2000);
  });

  it('keeps its slot if it may have begun a run, and frees it after a refusal', async () => {
    const broken = new Error('the disk is broken');
    const { taken, longRunning } = runs(() => Promise.reject(broken));
    const { end } = await make({ longRunning });
    expect(end).toEqual({ thrown: broken });
    expect([...taken]).toEqual([unit('u0').key]);
    const refused = runs(() => Promise.reject(failure(answered(400, 'INVALID_REQUEST'))));
    await make({ longRunning: refused.longRunning });
    expect([...refused.taken]).toEqual([]);
  });

  it('is no longer awaited once its start was answered', async () => {
    const before = Date.now();
    const answer = await make({ longRunning: runs(() => Promise.reject(failure(answered(500)))).longRunning });
    const { deadline } = (answer.end as LostStart).intent;
    expect(deadline).toBeGreaterThanOrEqual(before);
    expect(deadline).toBeLessThan(Date.now() + 1);
    const lost = await make({ longRunning: runs(() => Promise.reject(failure(cutOff))).longRunning });
    expect((lost.end as LostStart).intent.deadline).toBeGreaterThan(Date.now());
  });
});

it('requests that a cancellation ends do not make the service look unhealthy', async () => {
  const s = await setting();
  s.cut.abort(new Error('cut'));
  s.stop.abort(new Error('stopped'));
  const open = new AbortController().signal;
  const send = () => Promise.reject(failure(cutOff));
  const purchaseRequest = s.request(send, { units: units(10), unitsPerRequest: 1 });
  const gate = new BudgetGate(false);
  const stats = new PurchaseStats();
  const context = { ...s, purchaseRequest, stop: open, cut: s.cut.signal, stats, gate };
  const budget = new RequestBudget(gate, stats, open);
  for (const one of purchaseRequest.units) await attempt(context, { units: [one], limitMicros: null }, budget);
  expect(s.health.holdMs).toBe(0);
});

describe('a purchase that is stopped', () => {
  it('lands what is in flight, also while another purchase buys the rest', async () => {
    const s = await setting();
    const [mine, theirs] = units(2) as [Unit, Unit];
    await s.journal.claim([theirs.key], 'another');
    const send = async (batch: readonly Unit[]) => {
      s.stop.abort(new Error('stopped'));
      // The answer arrives after the attempt has stopped waiting for the other purchase.
      await new Promise((resolve) => setTimeout(resolve, 20));
      return success(batch);
    };
    const receipt = await s.buy(send, { units: [mine, theirs] });
    expect(receipt).toMatchObject({ complete: false, bought: 1, costMicros: 1000, unknownOutcomes: 0 });
    expect(await s.journal.totals('job/')).toMatchObject({ costMicros: 1000, openMicros: 0, unknown: [] });
  });

  it('and had only refusals records none: the service may have been the wrong one', async () => {
    const s = await setting();
    const send = async ([one]: readonly Unit[]) => {
      if (one?.unit === 'u1') s.stop.abort(new Error('stopped'));
      throw failure(one?.unit === 'u0' ? answered(400, 'INVALID_REQUEST') : answered(503));
    };
    expect(await s.buy(send, { units: units(2), unitsPerRequest: 1 })).toMatchObject({ complete: false, failed: 0 });
    expect(await s.journal.lookup(units(2).map(({ key }) => key))).toEqual([]);
  });
});

it('a key that was refused to a request from before a resume does not stop the work after it', async () => {
  const s = await setting();
  let resumedAt = 0;
  const send = async () => {
    while (Date.now() <= resumedAt + 1 || resumedAt === 0) {
      resumedAt ||= Date.now() + 1;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    throw failure(answered(401));
  };
  await expect(s.buy(send)).rejects.toThrow('401');
  expect(() => s.accountBreaker.check(resumedAt)).not.toThrow();
  expect(() => s.accountBreaker.check(0)).toThrow('401');
});

it('starts that find no free slot are tried again every few seconds, and others at longer intervals', async () => {
  const sleep = vi.spyOn(Waits.prototype, 'sleep').mockResolvedValue(undefined);
  const waits = async (refusal: ReturnType<typeof failure>) => {
    const s = await setting();
    let starts = 0;
    const { longRunning } = runs(async () => {
      if (++starts <= 8) throw refusal;
      return { run: 'a', requestId: null };
    });
    const follow = async (one: Unit) => success([one]);
    const receipt = await s.buy(
      good,
      {
        ...{ units: units(1), unitsPerRequest: 1 },
        longRunning: { ...longRunning, follow },
      },
      { random: () => 0.5 },
    );
    expect(receipt).toMatchObject({ complete: true, bought: 1 });
    return sleep.mock.calls.splice(0).map(([ms]) => ms / 1000);
  };
  const full = new ApiError({
    ...{ endpoint: createAgentRunEndpoint, serverMessage: '' },
    facts: answered(429, 'CONCURRENCY_LIMIT_REACHED'),
  });
  expect(full.verdict.type).toBe('ConcurrencyLimited');
  expect(await waits(full)).toEqual([1, 2, 4, 5, 5, 5, 5, 5]);
  expect(await waits(failure(answered(503)))).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  sleep.mockRestore();
});
