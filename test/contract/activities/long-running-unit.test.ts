import { describe, expect, it } from 'vitest';
import { createPurchase } from '../../../src/activities/purchase/purchase.js';
import type {
  Bought,
  LongRunning,
  PurchaseRequest,
  RunFacts,
  Start,
  StartToFind,
  Unit,
} from '../../../src/activities/purchase/purchase-request.js';
import { createAgentRunEndpoint } from '../../../src/api/endpoints/agent-runs.js';
import { ApiError } from '../../../src/api/wire/errors.js';
import { OverBudget } from '../../../src/core/purchase/spend.js';
import {
  answered,
  cutOff,
  failure,
  type Setting,
  setting,
  success,
  unit,
} from '../../support/activities/purchase-setting.js';

type Script = Partial<Pick<LongRunning, 'start' | 'follow' | 'find' | 'bound' | 'startsNothing'>> & {
  take?(signal: AbortSignal): Promise<void>;
};

/** A service with runs, made of functions. `course` records the calls of the service and of the slots, in order. */
async function world(script: Script = {}, of?: Omit<Setting, 'buy'>) {
  const s = of ?? (await setting());
  const course: string[] = [];
  const starts: Start[] = [];
  const searched: StartToFind[] = [];
  const followed: { readonly facts: RunFacts; readonly startedAt: number }[] = [];
  const longRunning: LongRunning = {
    async start(one, start, signal) {
      course.push(`start ${one.unit}`);
      starts.push(start);
      return script.start ? script.start(one, start, signal) : { run: `run ${starts.length}`, requestId: 'req' };
    },
    async follow(one, facts, startedAt, signal) {
      course.push(`follow ${facts.run}`);
      followed.push({ facts, startedAt });
      return script.follow ? script.follow(one, facts, startedAt, signal) : success([one], 700);
    },
    async find(one, start, signal) {
      searched.push(start);
      return script.find ? script.find(one, start, signal) : null;
    },
    bound: script.bound ?? (() => null),
    startsNothing: script.startsNothing ?? false,
    slots: {
      async take(_, signal) {
        course.push('take');
        await script.take?.(signal);
      },
      async name(_, run) {
        course.push(`name ${run}`);
      },
      async free() {
        course.push('free');
      },
      async refused() {
        course.push('refused');
      },
    },
  };
  const send = async (): Promise<Bought> => {
    throw new Error('it is started, not sent');
  };
  return {
    ...s,
    course,
    starts,
    searched,
    followed,
    buy: (
      names: readonly string[] = ['a'],
      changes: Partial<PurchaseRequest> = {},
      control: Partial<typeof s.control> = {},
    ) =>
      createPurchase({ ...s, random: () => -1.5 })(
        s.request(send, { units: names.map(unit), unitsPerRequest: 1, timeoutMs: 1, longRunning, ...changes }),
        { ...s.control, ...control },
      ),
    withMaxRun: (maxRunMs: number): Partial<PurchaseRequest> => ({ longRunning: { ...longRunning, maxRunMs } }),
    totals: () => s.journal.totals('job/'),
    record: async (name: string) => {
      const { key } = unit(name);
      return (await s.journal.read([key])).get(key);
    },
    /** Stops the purchase once its run is followed, as a cancellation would. */
    untilStopped: (_: Unit, __: RunFacts, ___: number, signal: AbortSignal) =>
      new Promise<Bought>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
        s.stop.abort(new Error('stopped'));
      }),
  };
}
const lost = () => Promise.reject(failure(cutOff));

describe('a unit that is a run at the service', () => {
  it('takes a slot, is started and named, and frees the slot when it has landed', async () => {
    const w = await world();
    expect(await w.buy(['a'], { startedAt: Date.now() - 60_000 })).toMatchObject({
      ...{ complete: true, requests: 1, bought: 1, failed: 0, costMicros: 700, earlierMicros: 0 },
    });
    expect(w.course).toEqual(['take', 'start a', 'name run 1', 'follow run 1', 'free']);
    expect(await w.totals()).toMatchObject({ openMicros: 0, costMicros: 700, unknown: [] });
    expect(w.followed).toMatchObject([{ facts: { run: 'run 1', requestId: 'req' } }]);
    expect(Math.abs(Date.now() - (w.followed[0]?.startedAt ?? 0))).toBeLessThan(60_000);
  });

  it('keeps its slot while its run is not followed, and is taken over without another start', async () => {
    const first = await world();
    const stopped = await world({ follow: first.untilStopped }, first);
    expect(await stopped.buy()).toMatchObject({ complete: false, bought: 0, leftRunning: 1 });
    expect(stopped.course).toEqual(['take', 'start a', 'name run 1', 'follow run 1']);
    expect(await stopped.totals()).toMatchObject({ openMicros: 1000, unknown: [] });
    const successor = await world({}, first);
    const { signal } = new AbortController();
    // The estimate of the run counted under the cap of the earlier run of the job, so its cost counts there too.
    expect(await successor.buy(['a'], { startedAt: Date.now() + 60_000 }, { stop: signal })).toMatchObject({
      complete: true,
      bought: 1,
      costMicros: 700,
      earlierMicros: 700,
    });
    expect(successor.course).toEqual(['name run 1', 'follow run 1', 'free']);
    // The journal and the purchase read the clock one after the other.
    const since = (stopped.followed[0]?.startedAt ?? 0) / 1000;
    const startedAt = expect.toSatisfy((at: number) => Math.abs(at / 1000 - since) < 1);
    expect(successor.followed).toEqual([{ facts: stopped.followed[0]?.facts, startedAt }]);
    expect(await successor.totals()).toMatchObject({ openMicros: 0, costMicros: 700, requests: 1 });
  });

  it('fails as RUN_OVERDUE when it takes too long, and a retry takes the same run over', async () => {
    const untilAborted = (_: Unit, __: RunFacts, ___: number, signal: AbortSignal) =>
      new Promise<Bought>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    const { key } = unit('a');
    const first = await world({ follow: untilAborted });
    const reported: (string | null)[] = [];
    const progress = ({ waitingFor }: { waitingFor: string | null }) => reported.push(waitingFor);
    const receipt = await first.buy(['a'], first.withMaxRun(1), { progress });
    expect(receipt).toMatchObject({ complete: true, bought: 0, failed: 1, unknownOutcomes: 0, leftRunning: 0 });
    expect(first.course).toEqual(['take', 'start a', 'name run 1', 'follow run 1']);
    const record = (await first.journal.read([key])).get(key);
    expect(record).toMatchObject({ status: 'error', error_tag: 'RUN_OVERDUE' });
    expect(JSON.stringify(record?.result)).toContain('run 1 has not ended after 0 min');
    expect(await first.totals()).toMatchObject({ openMicros: 1000, unknown: [] });

    const retry = { retryTags: ['RUN_OVERDUE'], retryBefore: Date.now() + 60_000 };
    const successor = await world({}, first);
    expect(await successor.buy(['a'], { ...successor.withMaxRun(1), freshness: retry })).toMatchObject({
      bought: 1,
    });
    expect(successor.course).toEqual(['name run 1', 'follow run 1', 'free']);
    // The run is followed for its full time again. Its polls are timed from its start; a single last poll would be timed from now.
    expect(successor.followed[0]?.startedAt).toBeLessThanOrEqual(first.followed[0]?.startedAt ?? 0);
    expect((await first.journal.read([key])).get(key)).toMatchObject({ status: 'success' });
    expect(await successor.totals()).toMatchObject({ openMicros: 0, costMicros: 700, requests: 1 });
  });

  it('frees its slot when its start is refused, and the other units continue', async () => {
    const refuse = async ({ unit: name }: Unit) => {
      if (name === 'bad') throw failure(answered(400, 'INVALID_REQUEST_BODY'));
      return { run: name, requestId: null };
    };
    const w = await world({ start: refuse });
    expect(await w.buy(['bad', 'good'])).toMatchObject({ complete: true, bought: 1, failed: 1, unknownOutcomes: 0 });
    expect(w.course.filter((step) => step === 'take')).toHaveLength(2);
    expect(w.course.filter((step) => step === 'free')).toHaveLength(2);
    expect(await w.record('bad')).toMatchObject({ error_tag: 'INVALID_REQUEST_BODY', http_status: 400 });
    expect(await w.totals()).toMatchObject({ openMicros: 0, unknown: [] });
  });

  it('is a failed row if its start names a missing object, and an error if the whole endpoint is missing', async () => {
    const missing = async ({ unit: name }: Unit) => {
      throw failure(answered(404, name === 'tagged' ? 'PREVIOUS_RUN_NOT_FOUND' : null));
    };
    const w = await world({ start: missing });
    expect(await w.buy(['tagged'])).toMatchObject({ complete: true, failed: 1 });
    expect(await w.record('tagged')).toMatchObject({ error_tag: 'PREVIOUS_RUN_NOT_FOUND' });
    await expect(w.buy(['plain'])).rejects.toThrow('404');
    expect(w.course).toEqual(['take', 'start tagged', 'free', 'take', 'start plain', 'free']);
  });

  it('reports a refusal to the slots when the service has none free, not when it is busy', async () => {
    const full = new ApiError({
      endpoint: createAgentRunEndpoint,
      facts: answered(429, 'CONCURRENCY_LIMIT_REACHED'),
      serverMessage: '',
    });
    const answers = [failure(answered(503)), full];
    const start = async () => {
      const error = answers.shift();
      if (error) throw error;
      return { run: 'run', requestId: null };
    };
    const w = await world({ start });
    expect(await w.buy()).toMatchObject({ complete: true, bought: 1, failed: 0 });
    const twice = ['take', 'start a', 'free', 'take', 'start a', 'free', 'refused'];
    expect(w.course).toEqual([...twice, 'take', 'start a', 'name run', 'follow run', 'free']);
  });

  it('frees its slot when it is stopped before it was sent', async () => {
    const w = await world();
    w.accountBreaker.trip(failure(answered(401)), Date.now());
    await expect(w.buy()).rejects.toThrow('401');
    expect(w.course).toEqual(['take', 'free']);
    expect(await w.totals()).toMatchObject({ openMicros: 0, requests: 0 });
  });

  it('waits for a slot, says so, and starts nothing when stopped meanwhile', async () => {
    const w = await world({
      take: (signal) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    });
    const reported: (string | null)[] = [];
    const progress = ({ waitingFor }: { waitingFor: string | null }) => {
      reported.push(waitingFor);
      w.stop.abort(new Error('stopped'));
    };
    expect(await w.buy(['a'], {}, { progress })).toMatchObject({ complete: false, waitMs: 0 });
    expect(reported).toEqual([expect.stringContaining('limit of concurrent runs')]);
    expect(w.starts).toEqual([]);
  });

  it('is started with a cost limit within the remaining budget', async () => {
    const asked: number[] = [];
    const w = await world({
      bound: (_, remaining) => {
        asked.push(remaining);
        return 400;
      },
    });
    await w.buy(['a'], { mostMicros: 5000 });
    expect(w.starts.map(({ limitMicros }) => limitMicros)).toEqual([400]);
    expect(asked).toEqual([1000]);
    const unbounded = await world({ bound: () => 400 });
    await unbounded.buy();
    expect(unbounded.starts.map(({ limitMicros }) => limitMicros)).toEqual([null]);
  });

  it('is started with a lower limit if the service charges more than the limit says', async () => {
    const w = await world({ follow: async (one) => success([one], 2000), bound: (_, left) => Math.min(1000, left) });
    const cap = { bookPrefix: 'job/', limitMicros: 7500 };
    expect(await w.buy(['a', 'b', 'c'], { cap })).toMatchObject({ bought: 3, costMicros: 6000 });
    // The service charges twice the limit of a run, so 750 of the 1,500 that are left is the limit.
    expect(await w.buy(['d'], { cap })).toMatchObject({ complete: true, bought: 1 });
    expect(w.starts.map(({ limitMicros }) => limitMicros)).toEqual([1000, 1000, 1000, 750]);
  });

  it('counts against the budget of the purchase that takes it over while it runs', async () => {
    const first = await world();
    await (await world({ follow: first.untilStopped }, first)).buy();
    const brief = async (one: Unit) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return success([one], 700);
    };
    const successor = await world({ follow: brief }, first);
    const bounded = { mostMicros: 1500 };
    await expect(successor.buy(['a', 'b'], bounded, { stop: new AbortController().signal })).rejects.toThrow(
      OverBudget,
    );
    expect(successor.followed).toHaveLength(1);
    expect(successor.starts).toEqual([]);
  });

  it('is left alone by a purchase that only ends runs', async () => {
    const w = await world({ startsNothing: true });
    expect(await w.buy()).toMatchObject({ complete: false, requests: 0, failed: 0 });
    expect(w.course).toEqual(['free']);
  });

  it('fails a purchase that only ends runs if the journal cannot be read', async () => {
    const w = await world({ startsNothing: true });
    await w.journal.claim([unit('a').key], 'somebody else');
    expect(await w.buy(['a'], {}, { yieldAfterMs: 50 })).toMatchObject({ complete: false });
    w.journal.waitForAny = () => Promise.reject(new Error('the disk is gone'));
    await expect(w.buy()).rejects.toThrow('the disk is gone');
  });

  it('is a failed row of unknown cost if the service no longer knows its run', async () => {
    const w = await world({ follow: async () => null });
    expect(await w.buy()).toMatchObject({ complete: true, bought: 0, failed: 1, unknownOutcomes: 1 });
    expect(w.course.at(-1)).toBe('free');
    expect(await w.record('a')).toMatchObject({
      error_tag: 'RUN_GONE',
      result: { error: expect.stringMatching(/run 1.*cost/) },
    });
    expect(await w.totals()).toMatchObject({ openMicros: 0, unknown: [{ estimateMicros: 1000 }] });
  });
});

describe('a start whose process died', () => {
  /** Writes an intent of a process that died. `noted`: the note about its run. */
  async function dead(noted?: RunFacts | { readonly run: null }) {
    const s = await setting();
    const { key } = unit('a');
    await s.journal.claim([key], 'dead');
    const id = await s.journal.intend({
      owner: 'dead',
      segment: 'job/gen/000000',
      operation: 'contents',
      keys: [key],
      estimateMicros: 1000,
      deadline: Date.now() - 1,
    });
    if (noted !== undefined) await s.journal.note(id, 'dead', { ...noted });
    await s.journal.release('dead');
    return { s, id };
  }

  it('is searched for and followed when found: the unknown outcome disappears', async () => {
    const { s, id } = await dead();
    expect((await s.journal.totals('job/')).unknown).toHaveLength(1);
    const find = async () => ({ run: 'found', requestId: 'its own' });
    const stopped = await world({ find, follow: (await world({}, s)).untilStopped }, s);
    expect(await stopped.buy()).toMatchObject({ complete: false });
    expect(stopped.searched).toMatchObject([{ tag: `${unit('a').key}/${id}`, message: null }]);
    expect(stopped.course).toEqual(['name found', 'follow found']);
    expect(await stopped.totals()).toMatchObject({ openMicros: 1000, unknown: [] });
    const successor = await world({}, s);
    await successor.buy(['a'], {}, { stop: new AbortController().signal });
    expect(successor.searched).toEqual([]);
    expect(successor.followed).toMatchObject([{ facts: { run: 'found', requestId: 'its own' } }]);
    expect(await successor.totals()).toMatchObject({ openMicros: 0, unknown: [], costMicros: 700, requests: 1 });
  });

  it('is searched for even if its note says that it created nothing', async () => {
    const { s } = await dead({ run: null });
    const w = await world({ find: async () => ({ run: 'late', requestId: null }) }, s);
    expect(await w.buy()).toMatchObject({ complete: true, bought: 1 });
    expect(w.course).toEqual(['name late', 'follow late', 'free']);
  });

  it('is followed by its note, without a search', async () => {
    const { s } = await dead({ run: 'noted', requestId: null });
    const w = await world({}, s);
    // The warehouse is not asked for an answer either, because the run will give the answer.
    const asked: string[] = [];
    const known = async (keys: readonly string[]) => {
      asked.push(...keys);
      return [];
    };
    expect(await w.buy(['a'], { known })).toMatchObject({ complete: true, bought: 1 });
    expect(asked).toEqual([]);
    expect(w.searched).toEqual([]);
    expect(w.course).toEqual(['name noted', 'follow noted', 'free']);
  });

  it.concurrent('is repeated if it certainly created nothing', async () => {
    const { s } = await dead();
    const w = await world({ find: async () => 'none' }, s);
    expect(await w.buy()).toMatchObject({ complete: true, bought: 1, unknownOutcomes: 0 });
    // The start is repeated only after a second search, because the list may show a run late.
    expect(w.searched).toHaveLength(2);
    expect(w.course).toEqual(['take', 'start a', 'name run 1', 'follow run 1', 'free']);
    expect(await w.totals()).toMatchObject({ openMicros: 0, unknown: [], costMicros: 700 });
  });

  it.concurrent('stays an unknown outcome if the search has no answer', async () => {
    const { s } = await dead();
    const w = await world({ find: async () => null }, s);
    expect(await w.buy()).toMatchObject({ complete: true, failed: 1, bought: 0 });
    expect(w.course).toEqual(['free']);
    expect(await w.totals()).toMatchObject({ unknown: [{ estimateMicros: 1000 }] });
  });
});

describe('a start without an answer', () => {
  it('is searched for also after an error that may have been charged', async () => {
    const start = () => Promise.reject(failure(answered(500, 'INTERNAL_ERROR')));
    const w = await world({ start, find: async () => ({ run: 'found', requestId: null }) });
    expect(await w.buy()).toMatchObject({ complete: true, bought: 1, unknownOutcomes: 0, costMicros: 700 });
    expect(w.searched[0]?.message).toContain('500');
    expect(await w.totals()).toMatchObject({ openMicros: 0, unknown: [] });
  });

  it('is searched for by its tag and the message of the service, and followed when found', async () => {
    const w = await world({ start: lost, find: async () => ({ run: 'found', requestId: null }) });
    expect(await w.buy()).toMatchObject({ complete: true, bought: 1, unknownOutcomes: 0, costMicros: 700 });
    expect(w.course).toEqual(['take', 'start a', 'name found', 'follow found', 'free']);
    const { tag } = w.starts[0] as Start;
    expect(w.searched).toMatchObject([{ tag, message: expect.any(String) }]);
    expect(tag).toMatch(new RegExp(`^${unit('a').key}/.+`));
    // The search begins five minutes before the start, because the two clocks may differ by up to five minutes.
    expect(Date.now() - (w.searched[0]?.since ?? 0)).toBeGreaterThanOrEqual(300_000);
    expect(Date.now() - (w.searched[0]?.since ?? 0)).toBeLessThan(400_000);
  });

  it('is noted once it is found, so that the next owner follows it without a search', async () => {
    const first = await world();
    const find = async () => ({ run: 'found', requestId: 'its own' });
    const stopped = await world({ start: lost, find, follow: first.untilStopped }, first);
    await stopped.buy();
    const successor = await world({}, first);
    await successor.buy(['a'], {}, { stop: new AbortController().signal });
    expect(successor.searched).toEqual([]);
    expect(successor.followed).toMatchObject([{ facts: { run: 'found', requestId: 'its own' } }]);
  });
});

// These tests mostly wait for runs that the service lists late.
describe.concurrent('a start without an answer that is not found', () => {
  it('is repeated with another tag if it certainly created nothing, and costs nothing', async () => {
    let calls = 0;
    const start = async () => (++calls === 1 ? lost() : { run: 'second', requestId: null });
    const w = await world({ start, find: async () => 'none' });
    expect(await w.buy()).toMatchObject({ complete: true, bought: 1, unknownOutcomes: 0, costMicros: 700 });
    expect(w.searched.length).toBeGreaterThanOrEqual(2);
    expect(new Set(w.starts.map(({ tag }) => tag)).size).toBe(2);
    expect(await w.totals()).toMatchObject({ openMicros: 0, unknown: [], requests: 1 });
  });

  it('is never repeated if the search has no answer, and becomes an unknown outcome', async () => {
    const w = await world({ start: lost, find: async () => null });
    expect(await w.buy()).toMatchObject({ complete: true, bought: 0, failed: 1, unknownOutcomes: 1 });
    expect(w.starts).toHaveLength(1);
    expect(w.course).toEqual(['take', 'start a', 'free']);
    expect(await w.record('a')).toMatchObject({ error_tag: 'UNKNOWN_OUTCOME' });
    const reason = w.searched[0]?.message;
    expect(await w.totals()).toMatchObject({ openMicros: 0, unknown: [{ estimateMicros: 1000, reason }] });
    // The list is searched while the answer may still come, when the answer is overdue, and a last time; a slow machine has a few more gaps.
    expect(w.searched.length).toBeLessThanOrEqual(8);
  });

  it('is searched for more than once, because a list may show it late', async () => {
    let searches = 0;
    const find = async () => (++searches < 2 ? ('none' as const) : { run: 'late', requestId: null });
    const w = await world({ start: lost, find });
    expect(await w.buy()).toMatchObject({ complete: true, bought: 1 });
    expect(w.starts).toHaveLength(1);
    expect(w.followed).toMatchObject([{ facts: { run: 'late' } }]);
  });
});
