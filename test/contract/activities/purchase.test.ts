import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { AllRefused } from '../../../src/activities/call/failure.js';
import { InFlight } from '../../../src/activities/call/in-flight.js';
import type { Bought, Unit } from '../../../src/activities/purchase/purchase-request.js';
import { contentsEndpoint } from '../../../src/api/endpoints/contents.js';
import { ApiError } from '../../../src/api/wire/errors.js';
import type { Journal } from '../../../src/core/purchase/journal.js';
import { over } from '../../../src/worker/host/metrics.js';
import {
  answered,
  cutOff,
  failure,
  good,
  keyOf,
  newDir,
  setting,
  success,
  units,
} from '../../support/activities/purchase-setting.js';

describe('purchase', () => {
  it('buys each unit once, in requests of the given size', async () => {
    const s = await setting();
    // Only one request is in flight at a time, so that requests are sent in the order of the units.
    const receipt = await s.buy(good, { units: units(5), unitsPerRequest: 2 }, { inFlight: new InFlight(1) });
    expect(receipt).toMatchObject({ complete: true, requests: 3, bought: 5, costMicros: 5000, unknownOutcomes: 0 });
    expect(s.sent).toEqual([['u0', 'u1'], ['u2', 'u3'], ['u4']]);
    const record = (await s.journal.read([keyOf('u3')])).get(keyOf('u3'));
    expect(record).toMatchObject({
      ...{ unit: 'u3', operation: 'contents', request_id: 'req', cost_micros: 1000, status: 'success' },
      ...{ error_tag: null, http_status: null, source: null, result: { url: 'u3' } },
    });
    expect(Math.abs(Date.now() - Date.parse(record?.fetched_at ?? ''))).toBeLessThan(60_000);
    expect(await s.journal.totals('job/')).toMatchObject({ requests: 3, costMicros: 5000, openMicros: 0, unknown: [] });
  });

  it('shares the permits of requests in flight with other jobs in turn', async () => {
    const s = await setting();
    const inFlight = new InFlight(1);
    const large = s.buy(good, { units: units(100), unitsPerRequest: 1 }, { inFlight });
    await expect.poll(() => s.sent.length, { interval: 1 }).toBeGreaterThan(0);
    const segment = 'small/gen/000000';
    await s.buy(good, { segment, units: units(3, 100), unitsPerRequest: 1 }, { inFlight });
    await large;
    const order = s.sent.flat();
    expect(order.indexOf('u102') - order.indexOf('u100')).toBe(4);
    expect(order.indexOf('u102')).toBeLessThan(90);
  });

  it('sends nothing for an intent that is older than the journal allows, and closes it as not sent', async () => {
    const s = await setting();
    let suspensions = 0;
    // The process is suspended after the write of its first intent, as by the sleep of a machine.
    const intend: typeof s.journal.intend = async (intent) => {
      const id = await s.journal.intend(intent);
      if (suspensions++ === 0) vi.setSystemTime(Date.now() + 60_000);
      return id;
    };
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const journal = over<Journal>(s.journal, { intend, sendWithinMs: 30_000 });
    const receipt = await s.buy(good, { units: units(1) }, { journal });
    expect(receipt).toMatchObject({ complete: true, requests: 1, costMicros: 1000, unknownOutcomes: 0 });
    expect(s.sent).toEqual([['u0']]);
    const history = (await s.journal.history([keyOf('u0')], ['job'])).get(keyOf('u0'));
    expect(history?.attempts.map(({ outcome }) => outcome)).toEqual(['unsent', 'landed']);
  });

  it('uses answers from elsewhere unchanged, and buys the others', async () => {
    const s = await setting();
    const lookedUp: (readonly string[])[] = [];
    const known = async (keys: readonly string[]) => {
      lookedUp.push(keys);
      return [0, 1, 2].map((nth) => ({
        requestId: nth === 2 ? 'other' : 'earlier',
        fetchedAt: 1_700_000_000_000 + (nth === 1 ? 5 : 0),
        outcome: {
          ...(success([...units(3)]).units[nth] as Bought['units'][number]),
          key: keyOf(`u${nth}`),
          costMicros: 0,
        },
      }));
    };
    const receipt = await s.buy(good, { units: units(5), known });
    expect(receipt).toMatchObject({ complete: true, requests: 1, bought: 2, costMicros: 2000, failed: 0 });
    expect([s.sent, lookedUp]).toEqual([[['u3', 'u4']], [units(5).map(({ key }) => key)]]);
    const found = await s.journal.read([0, 1, 2, 3].map((nth) => keyOf(`u${nth}`)));
    expect(
      [...found.values()].map((one) => [one.unit, one.request_id, one.cost_micros, Date.parse(one.fetched_at)]),
    ).toEqual([
      ['u0', 'earlier', 0, 1_700_000_000_000],
      ['u1', 'earlier', 0, 1_700_000_000_005],
      ['u2', 'other', 0, 1_700_000_000_000],
      ['u3', 'req', 1000, expect.any(Number)],
    ]);
    // No claim is left: another owner finds that all units have landed.
    expect(
      await s.journal.claim(
        units(5).map(({ key }) => key),
        'another',
      ),
    ).toMatchObject({ mine: [], theirs: [] });
  });

  it('releases the units that it could not buy', async () => {
    const s = await setting();
    await expect(s.buy(() => Promise.reject(failure(answered(401))))).rejects.toThrow('401');
    const keys = units(3).map(({ key }) => key);
    const { mine, theirs } = await s.journal.claim(keys, 'another');
    expect([mine.length, theirs]).toEqual([3, []]);
  });

  it('waits for a unit that another purchase buys, and buys it if the other one releases it', async () => {
    const s = await setting();
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const first = s.buy(async () => {
      await held;
      throw failure(answered(404));
    });
    const second = s.buy(good, { units: units(4) });
    await expect.poll(() => s.sent.length, { timeout: 20_000 }).toBe(2);
    release?.();
    await expect(first).rejects.toThrow('404');
    expect(await second).toMatchObject({ complete: true, bought: 4 });
    expect(s.sent).toEqual(expect.arrayContaining([['u0', 'u1', 'u2'], ['u3']]));
    expect(s.sent).toHaveLength(3);
  });

  it('lists a lost answer as an unknown outcome, buys it again three times at most, and then gives up', async () => {
    const s = await setting();
    const lost = () => Promise.reject(failure(cutOff));
    const receipt = await s.buy(lost, {}, { random: () => -1.5 });
    expect(receipt).toMatchObject({ complete: true, requests: 0, unknownOutcomes: 4 });
    expect(s.sent).toHaveLength(4);
    expect((await s.journal.totals('job/')).unknown).toHaveLength(4);
    expect((await s.journal.read([keyOf('u0')])).get(keyOf('u0'))).toMatchObject({
      status: 'error',
      error_tag: 'UNKNOWN_OUTCOME',
      result: { error: 'no answer landed in 4 purchases; the request may have been charged' },
    });
  });

  it('gives up after the first lost answer when the request allows no further purchase', async () => {
    const s = await setting();
    expect(await s.buy(() => Promise.reject(failure(cutOff)), { units: units(1), maxRebuys: 0 })).toMatchObject({
      complete: true,
      unknownOutcomes: 1,
    });
    expect(s.sent).toHaveLength(1);
    expect((await s.journal.read([keyOf('u0')])).get(keyOf('u0'))).toMatchObject({
      result: { error: 'no answer landed in 1 purchase; the request may have been charged' },
    });
  });

  it('buys the other units of a request whose answer was lost once too often for one of them', async () => {
    const s = await setting();
    for (let lost = 0; lost < 3; lost++) {
      await s.journal.claim([keyOf('u0')], 'before');
      const intent = { owner: 'before', segment: 'job/gen/000000', operation: 'contents', keys: [keyOf('u0')] };
      const id = await s.journal.intend({ ...intent, estimateMicros: 1000, deadline: 0 });
      await s.journal.miss(id, 'the answer was lost', 'maybe');
      await s.journal.release('before');
    }
    let calls = 0;
    const send = async (batch: readonly Unit[]) => {
      if (++calls === 1) throw failure(cutOff);
      return success(batch);
    };
    expect(await s.buy(send, { units: units(3) }, { random: () => -1.5 })).toMatchObject({
      complete: true,
      bought: 2,
      unknownOutcomes: 1,
    });
    expect(s.sent).toEqual([
      ['u0', 'u1', 'u2'],
      ['u1', 'u2'],
    ]);
  });

  it('fails with the refusal of its only unit when the request asks for that', async () => {
    const s = await setting();
    await expect(
      s.buy(() => Promise.reject(failure(answered(400, 'INVALID_REQUEST'))), {
        units: units(1),
        refused: 'throw',
      }),
    ).rejects.toThrow('400');
    expect((await s.journal.read([keyOf('u0')])).size).toBe(0);
  });

  it('continues through any number of answers that cannot have been charged', async () => {
    const s = await setting();
    let calls = 0;
    const receipt = await s.buy(
      async (batch) => {
        if (++calls <= 7) throw failure(answered(503, 'SERVICE_OVERLOADED'));
        return success(batch);
      },
      {},
      { random: () => -1.5 },
    );
    expect(receipt).toMatchObject({ complete: true, unknownOutcomes: 0 });
    expect((await s.journal.totals('job/')).unknown).toEqual([]);
  });

  it('holds all callers back for the time of a 429, and then continues', async () => {
    const s = await setting();
    let calls = 0;
    const blocked: (string | null)[] = [];
    const receipt = await s.buy(async (batch) => {
      if (++calls === 1) throw failure(answered(429, 'RATE_LIMIT_EXCEEDED', 200));
      blocked.push((await s.limiter.view()).blockReason);
      return success(batch);
    });
    expect(receipt.complete).toBe(true);
    expect(blocked).toEqual([null]);
  });

  it('slows down when the service reports that it queues the calls', async () => {
    const s = await setting();
    await s.buy(async (batch) => ({ ...success(batch), queued: true }), {
      units: units(30),
      unitsPerRequest: 1,
    });
    await s.limiter.acquire({ rateClass: 'contents', weight: 1 });
    expect((await s.limiter.view()).effectiveQps).toBeLessThan(950);
  });

  it('returns early with the wait that the service asked for, the shortest of several', async () => {
    const s = await setting();
    const receipt = await s.buy(
      async ([one]) => {
        throw failure(answered(503, 'SERVICE_OVERLOADED', one?.unit === 'u0' ? 90_000 : 60_000));
      },
      { units: units(2), unitsPerRequest: 1 },
      { yieldAfterMs: 1000 },
    );
    expect(receipt).toMatchObject({ complete: false, waitingFor: expect.stringContaining('503') });
    expect(receipt.waitMs).toBeGreaterThan(30_000);
    expect(receipt.waitMs).toBeLessThanOrEqual(60_000);
  });

  it('releases without cost a request that was stopped between its intent and its start', async () => {
    const s = await setting();
    s.limiter.start = () => Promise.reject(new Error('stopped'));
    await expect(s.buy(good)).rejects.toThrow('stopped');
    expect(s.sent).toEqual([]);
    expect(await s.journal.totals('job/')).toMatchObject({ openMicros: 0, unknown: [] });
  });

  it('returns early with the wait for a service that fails every call', async () => {
    const s = await setting();
    for (let count = 0; count < 8; count++) s.health.failed('well');
    for (let count = 0; count < 5; count++) s.health.failed('try');
    const receipt = await s.buy(good, {}, { yieldAfterMs: 1000 });
    expect(receipt).toMatchObject({ complete: false, waitingFor: 'the service to recover' });
    expect(s.sent).toEqual([]);
  });

  it('reports the block of all callers also when one of its requests waits for itself', async () => {
    const s = await setting();
    const receipt = await s.buy(
      async () => {
        await s.limiter.block(80_000, 'everybody waits');
        throw failure(answered(503, 'SERVICE_OVERLOADED', 60_000));
      },
      {},
      { yieldAfterMs: 1000 },
    );
    expect(receipt).toMatchObject({ complete: false, waitingFor: 'everybody waits' });
  });

  it('fails at a block of more than an hour, so that the job pauses, and blocks the team as long', async () => {
    const s = await setting();
    const limited = () => Promise.reject(failure(answered(429, null, 4_000_000)));
    await expect(s.buy(limited)).rejects.toMatchObject({ verdict: { type: 'RateLimited' } });
    const { blockedUntil } = await s.limiter.view();
    expect((blockedUntil ?? 0) - Date.now()).toBeGreaterThan(3_990_000);
  });

  it.each([
    [413, null, 2, 'INVALID_REQUEST'],
    [414, null, 2, 'INVALID_REQUEST'],
    [400, 'INVALID_URLS', 8, 'INVALID_URLS'],
  ])(
    'splits a request that is refused with %d until only the refused unit is left, and keeps the reason',
    async (status, tag, most, error_tag) => {
      const s = await setting();
      const send = async (batch: readonly Unit[]) => {
        const isRefused = batch.length > most || batch.some(({ unit }) => unit === 'u5');
        if (isRefused) throw failure(answered(status, tag), 'cannot be read');
        return success(batch);
      };
      expect(await s.buy(send, { units: units(8) })).toMatchObject({ complete: true, bought: 7, failed: 1 });
      expect(s.sent[0]).toHaveLength(8);
      const record = (await s.journal.read([keyOf('u5')])).get(keyOf('u5'));
      expect(record).toMatchObject({ error_tag, http_status: status });
      expect(JSON.stringify(record?.result)).toContain('cannot be read');
    },
  );

  describe('whose units are refused', () => {
    const alike = () => failure(answered(400, 'INVALID_REQUEST_BODY'), 'no such option');
    /** Buys this many units. The service refuses a unit if `wrong` returns an error for it. */
    async function buy(count: number, wrong: (unit: string, nth: number) => Error | null, changes = {}) {
      const s = await setting();
      let sent = 0;
      const send = async (batch: readonly Unit[]) => {
        const nth = sent++;
        const [error] = batch.flatMap(({ unit }) => wrong(unit, nth) ?? []);
        if (error) throw error;
        return success(batch);
      };
      const end = await s.buy(send, { units: units(count), ...changes }).catch((error: unknown) => error);
      return { end, sent, landed: (await s.journal.totals('')).unitsLanded };
    }

    it.each([1, 3, 100])(
      'alike fails as a whole after a few requests of %d units, and records none',
      async (unitsPerRequest) => {
        const { end, sent, landed } = await buy(20 * unitsPerRequest, alike, { unitsPerRequest });
        expect(end).toBeInstanceOf(AllRefused);
        expect((end as AllRefused).requests).toBeGreaterThanOrEqual(8);
        expect((end as AllRefused).message).toContain('no such option');
        // The first requests, their parts that are in flight at the eighth refusal, and one part for each earlier refusal.
        expect(sent).toBeLessThanOrEqual(20 + 50 + 8);
        // No unit is recorded as failed, so all can be bought once the service accepts them.
        expect(landed).toBe(0);
      },
    );

    it('in different words is refused unit by unit, and fails as a whole only if each of them is refused', async () => {
      const each = (_: string, nth: number) => failure(answered(400, 'INVALID_REQUEST'), `problem ${nth}`);
      expect((await buy(40, each, { unitsPerRequest: 1 })).end).toBeInstanceOf(AllRefused);
      const most = (unit: string, nth: number) => (unit === 'u39' ? null : each(unit, nth));
      expect(await buy(40, most, { unitsPerRequest: 1 })).toMatchObject({
        end: { complete: true, bought: 1, failed: 39 },
        landed: 40,
      });
    });

    it('alike are recorded as failed where such requests were accepted before, and on request always', async () => {
      const first = (unit: string) => (/^u1?\d$/.test(unit) ? alike() : null);
      const accepted = async () => true;
      const ends = { complete: true, bought: 20, failed: 20 };
      expect((await buy(40, first, { unitsPerRequest: 1, accepted })).end).toMatchObject(ends);
      expect((await buy(40, alike, { accepted })).end).toMatchObject({ complete: true, failed: 40 });
      expect((await buy(40, alike, { recordsAll: true })).end).toMatchObject({ complete: true, failed: 40 });
    });

    it.each([
      [
        'its time, are recorded where such requests were accepted before',
        'time',
        { accepted: async () => true },
        'recorded',
      ],
      ['its time, are recorded on request', 'time', { recordsAll: true }, 'recorded'],
      ['its time, show that the request as a whole is refused', 'time', {}, 'refused'],
      ['a cancellation, are not recorded before any success', 'cancel', {}, 'open'],
    ] as const)('in different words until %s', async (_title, end, changes, expected) => {
      const s = await setting();
      const over = new AbortController();
      let sent = 0;
      const send = async () => {
        if (++sent === 16) over.abort(new Error('over'));
        throw failure(answered(400, 'INVALID_REQUEST'), `problem ${sent}`);
      };
      const control = { ...s.control, stop: over.signal, ...(end === 'time' ? { timeUp: over.signal } : {}) };
      const limited = { units: units(400), unitsPerRequest: 1, ...changes };
      const bought = s.buy(send, limited, control).catch((error: unknown) => error);
      if (expected === 'refused') expect(await bought).toBeInstanceOf(AllRefused);
      else expect(await bought).toMatchObject({ complete: false, bought: 0 });
      const { unitsLanded } = await s.journal.totals('');
      expect(unitsLanded > 0).toBe(expected === 'recorded');
    });
  });

  it('keeps a paid answer of the wrong shape and never buys it again', async () => {
    const s = await setting();
    const facts = { ...answered(200), wrongShape: true };
    const wrong = () => Promise.reject(new ApiError({ endpoint: contentsEndpoint, facts, body: '{"not":"it"}' }));
    expect(await s.buy(wrong)).toMatchObject({ complete: true, failed: 3 });
    expect(await s.buy(good)).toMatchObject({ complete: true, bought: 0 });
    expect(JSON.stringify((await s.journal.read([keyOf('u0')])).get(keyOf('u0'))?.result)).toContain('not');
  });

  it('lets requests in flight land when stopped, and starts nothing more', async () => {
    const s = await setting();
    const send = async (batch: readonly Unit[]) => {
      s.stop.abort(new Error('drain'));
      await new Promise((resolve) => setImmediate(resolve));
      return success(batch);
    };
    const receipt = await s.buy(send, { units: units(4), unitsPerRequest: 2 }, { inFlight: new InFlight(1) });
    expect(receipt).toMatchObject({ complete: false, bought: 2 });
    expect(s.sent).toHaveLength(1);
    expect((await s.journal.totals('job/')).unknown).toEqual([]);
    expect((await s.journal.claim([keyOf('u2')], 'next')).mine).toHaveLength(1);
  });

  it('lists an aborted request as an unknown outcome', async () => {
    const s = await setting();
    const running = s.buy(
      (_batch, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(failure(cutOff)));
          s.stop.abort(new Error('drain'));
          setImmediate(() => s.cut.abort(new Error('cut')));
        }),
    );
    expect(await running).toMatchObject({ complete: false, unknownOutcomes: 1 });
    expect((await s.journal.totals('job/')).unknown).toHaveLength(1);
  });

  it.each([
    ['over the units that succeeded, to the last micro-dollar', 2003, [1], [1002, 0, 1001]],
    ['over two successes, although a price of three is near', 2400, [1], [1200, 0, 1200]],
    ['over a failure too that was possibly charged', 3000, [1], [1000, 1000, 1000]],
    ['over all units if none succeeded and the answer was charged', 3000, [0, 1, 2], [1000, 1000, 1000]],
  ])('splits a cost %s', async (_how, costMicros, failed, shares) => {
    const s = await setting();
    const send = async (batch: readonly Unit[]) => {
      const all = success(batch).units.map((one, index) =>
        failed.includes(index) ? { ...one, status: 'error' as const, errorTag: 'CRAWL_TIMEOUT' } : one,
      );
      return { requestId: 'req', costMicros, units: all };
    };
    expect(await s.buy(send)).toMatchObject({ complete: true, failed: failed.length, costMicros });
    const records = await s.journal.read(units(3).map((one) => one.key));
    expect(units(3).map((one) => records.get(one.key)?.cost_micros)).toEqual(shares);
    expect(await s.journal.totals('')).toMatchObject({ costMicros });
  });

  it('buys after a crash only the units that had not landed', async () => {
    const dir = newDir();
    const s = await setting(dir);
    let calls = 0;
    void s.buy((batch) => (++calls === 2 ? new Promise(() => undefined) : Promise.resolve(success(batch))), {
      units: units(4),
      unitsPerRequest: 2,
    });
    await expect.poll(async () => (await s.journal.totals('')).unitsLanded, { timeout: 20_000 }).toBe(2);
    await expect.poll(() => s.sent.length, { timeout: 20_000 }).toBe(2);
    const next = await setting(dir);
    const receipt = await next.buy(good, { units: units(4) });
    expect(receipt).toMatchObject({ complete: true, bought: 2 });
    expect((await next.journal.totals('')).unknown).toHaveLength(1);
  });

  it('fails with an error that does not come from the service, unchanged', async () => {
    const s = await setting();
    const bug = new TypeError('a bug');
    await expect(
      s.buy(async () => {
        throw bug;
      }),
    ).rejects.toBe(bug);
    expect((await s.journal.totals('job/')).unknown).toMatchObject([{ reason: 'given up before an answer landed' }]);
  });
});
