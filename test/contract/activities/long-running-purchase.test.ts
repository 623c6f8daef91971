import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import type { ActivityDeps, PurchaseRequest, Receipt } from '../../../src/activities/index.js';
import { agentKeys, agentPurchase } from '../../../src/activities/rows/agent-purchase.js';
import { createEndRuns } from '../../../src/activities/rows/enrich-slice.js';
import type { AgentRunRequest } from '../../../src/api/schemas/agent-run-schemas.js';
import type { StagedJob } from '../../../src/core/job-entry-schemas.js';
import { OverBudget } from '../../../src/core/purchase/spend.js';
import { canonicalJson } from '../../../src/core/text/json.js';
import { type AgentOptions, type Service, startService } from '../../service/service.mjs';
import { ActivitySetting, attempt } from '../../support/activities/activity-setting.js';
import { ofFile } from '../../support/of-file.js';

const setting = ofFile(() => ActivitySetting.open());
const services: Service[] = [];
afterAll(async () => {
  for (const service of services) await service.close();
});

interface World {
  readonly service: Service;
  readonly deps: ActivityDeps;
  readonly stop: AbortController;
  buy(
    requests: readonly AgentRunRequest[],
    changes?: Partial<PurchaseRequest> & { readonly ending?: 'cancel' | 'stop'; readonly yieldAfterMs?: number },
  ): Promise<Receipt>;
  keyOf(request: AgentRunRequest): string;
  record(
    request: AgentRunRequest,
  ): Promise<{ readonly status: string; readonly tag: string | null; readonly result: unknown } | null>;
}

let worlds = 0;
/** Opens a service, and a worker with purchases of its own. `again`: the new worker uses the service and the purchases of this world. */
async function open(options: AgentOptions = {}, again?: World): Promise<World> {
  const service = again?.service ?? (await startService({ agents: options }));
  if (!again) services.push(service);
  const deps = {
    ...setting.worker({ baseUrl: service.url }, again?.deps.origin ?? `agents ${++worlds}`),
    timeoutMs: 300,
  };
  const stop = new AbortController();
  const keyOf = (request: AgentRunRequest) => agentKeys(deps)(canonicalJson(request));
  return {
    service,
    deps,
    stop,
    keyOf,
    async buy(requests, { ending, yieldAfterMs = 60_000, ...changes } = {}) {
      const purchase = agentPurchase(deps, {
        segment: `${deps.origin.replace(' ', '-')}/gen/000000`,
        owner: randomUUID(),
        resumedAt: 0,
        units: requests.map((request) => ({ key: keyOf(request), unit: canonicalJson(request) })),
        request: ({ unit }) => JSON.parse(unit) as AgentRunRequest,
        ...(ending ? { ending } : {}),
      });
      const control = { stop: stop.signal, cut: new AbortController().signal, yieldAfterMs };
      return deps.purchase({ ...purchase, ...changes }, control);
    },
    async record(request) {
      const found = (await deps.journal.read([keyOf(request)])).get(keyOf(request));
      return found ? { status: found.status, tag: found.error_tag, result: found.result } : null;
    },
  };
}

const ask = (query: string, more: Partial<AgentRunRequest> = {}): AgentRunRequest => ({
  query,
  effort: 'low',
  ...more,
});
const totalsOf = ({ deps }: World) => deps.journal.totals(deps.origin.replace(' ', '-'));
/** Resolves when the runs of a service are followed: the note of each is on the disk. */
const followed = ({ service }: World) =>
  expect
    .poll(() => [...service.agents.runs.values()].map(({ reads }) => reads > 0), { timeout: 20_000 })
    .toContain(true);

// These tests mostly wait, so they run in parallel.
describe.concurrent('a run at the service', () => {
  it('lands once with its whole record and its real cost, however often it is requested', async () => {
    const world = await open();
    const receipt = await world.buy([ask('a'), ask('b')]);
    expect(receipt).toMatchObject({ complete: true, requests: 2, bought: 2, failed: 0, costMicros: 500_000 });
    expect(await world.buy([ask('a'), ask('b')])).toMatchObject({ complete: true, requests: 0 });
    expect(world.service.agents.starts.map(({ query }) => query).sort()).toEqual(['a', 'b']);
    expect(await world.record(ask('a'))).toMatchObject({
      status: 'success',
      result: { status: 'completed', output: { text: 'of a' }, costDollars: { total: 0.25 } },
    });
    expect(await totalsOf(world)).toMatchObject({ requests: 2, openMicros: 0, costMicros: 500_000, unknown: [] });
  });

  it('is not shared by equal queries with different input', async () => {
    const world = await open();
    const requests = [1, 2, 3].map((id) => ask('same', { input: { data: [{ id }] } }));
    await world.buy([...requests, requests[0] as AgentRunRequest]);
    expect(world.service.agents.starts).toHaveLength(3);
    const ids = await Promise.all(requests.map(async (request) => (await world.record(request))?.result));
    expect(new Set(ids.map((result) => (result as { id: string }).id)).size).toBe(3);
  });

  it.each(['lost', 'unnamed', 'named'] as const)('is found if its start got no answer (%s)', async (how) => {
    const world = await open();
    world.service.next({ what: 'start', how });
    expect(await world.buy([ask('a'), ask('b')])).toMatchObject({ complete: true, unknownOutcomes: 0, bought: 2 });
    expect(world.service.agents.starts).toHaveLength(2);
    expect(await totalsOf(world)).toMatchObject({ openMicros: 0, unknown: [], requests: 2 });
  });

  it('is found by its echo if the service keeps no metadata, and only if the echo is equal', async () => {
    const world = await open({ echoesMetadata: false });
    world.service.next({ what: 'start', how: 'lost' });
    await world.buy([ask('a', { input: { data: [{ id: 1 }] } })]);
    expect(await totalsOf(world)).toMatchObject({ unknown: [], requests: 1 });
    expect(world.service.agents.starts).toHaveLength(1);
    // A request whose start never arrived does not get the run of another request.
    world.service.next({ what: 'start', how: 'reset' });
    const receipt = await world.buy([ask('a', { input: { data: [{ id: 2 }] } })]);
    expect(receipt).toMatchObject({ complete: true, failed: 1, unknownOutcomes: 1 });
    expect(await world.record(ask('a', { input: { data: [{ id: 2 }] } }))).toMatchObject({ tag: 'UNKNOWN_OUTCOME' });
  });

  it.each([true, false])(
    'is not confused with the other run that a failed start names (metadata shown: %s)',
    async (echoesMetadata) => {
      const world = await open({ echoesMetadata });
      await world.buy([ask('a')]);
      const [first] = [...world.service.agents.runs.keys()] as [string];
      const notLoaded = { error: { code: 'SERVER_ERROR', message: `Could not load previous run ${first}` } };
      world.service.next({ what: 'start', how: 'status', status: 500, body: notLoaded });
      const next = ask('b', { previousRunId: first });
      const receipt = await world.buy([next]);
      if (echoesMetadata) {
        expect(receipt).toMatchObject({ complete: true, bought: 1, failed: 0, unknownOutcomes: 0 });
        expect(await world.record(next)).toMatchObject({ result: { output: { text: 'of b' } } });
      } else {
        expect(receipt).toMatchObject({ complete: true, failed: 1, unknownOutcomes: 1 });
        expect(await world.record(next)).toMatchObject({ tag: 'UNKNOWN_OUTCOME' });
      }
      // A start fails, its run exists, and the answer names another run: the run of this start is found all the same.
      world.service.next({ what: 'start', how: 'names', id: first });
      expect(await world.buy([ask('c')])).toMatchObject({
        complete: true,
        failed: 0,
        unknownOutcomes: 0,
        costMicros: 250_000,
      });
      expect(await world.record(ask('c'))).toMatchObject({ result: { output: { text: 'of c' } } });
      expect(await totalsOf(world)).toMatchObject({ requests: echoesMetadata ? 3 : 2, openMicros: 0 });
    },
  );

  it.each([
    ['', 0],
    [', whose clock was an hour ahead', 3_600_000],
  ])('is started once after an owner died between its intent and its start%s', async (_, ahead) => {
    const world = await open();
    await world.buy([ask('before')]);
    const { deps } = world;
    const owner = randomUUID();
    const key = world.keyOf(ask('a'));
    await deps.journal.claim([key], owner);
    const segment = `${deps.origin.replace(' ', '-')}/gen/000000`;
    await deps.journal.intend({
      owner,
      segment,
      operation: 'agent',
      keys: [key],
      estimateMicros: 1,
      deadline: Date.now() + ahead,
    });
    await deps.journal.release(owner);
    expect(await totalsOf(world)).toMatchObject({ unknown: [{ keys: [key] }] });
    expect(await world.buy([ask('a')])).toMatchObject({ complete: true, bought: 1, failed: 0, unknownOutcomes: 0 });
    expect(world.service.agents.starts).toHaveLength(2);
    expect(await totalsOf(world)).toMatchObject({ requests: 2, openMicros: 0, unknown: [] });
  });

  it.each([
    ['failed', 'RUN_FAILED'],
    ['cancelled', 'RUN_CANCELLED'],
    ['half-baked (2)', 'RUN_HALF_BAKED_2_'],
  ])('that ends %s is a failed row with its reason, record and cost', async (endsAs, tag) => {
    const world = await open({ endsAs });
    expect(await world.buy([ask('a')])).toMatchObject({ complete: true, failed: 1, costMicros: 250_000 });
    expect(await world.record(ask('a'))).toMatchObject({ status: 'error', tag, result: { status: endsAs } });
  });

  it('is cancelled at its cost, and no unit is started meanwhile', async () => {
    const world = await open({ durationMs: { min: 60_000, max: 60_000 } });
    const buying = world.buy([ask('a')]);
    await followed(world);
    world.stop.abort(new Error('cancelled'));
    await buying;
    const successor = await open({}, world);
    const receipt = await successor.buy([ask('a'), ask('b')], { ending: 'cancel' });
    expect(receipt).toMatchObject({ complete: false, requests: 1, costMicros: 250_000 });
    expect(world.service.agents.inProgress()).toBe(0);
    expect(world.service.agents.starts).toHaveLength(1);
    expect(await successor.record(ask('a'))).toMatchObject({ tag: 'RUN_CANCELLED' });
  });
});

it('a run that another purchase follows is neither ended nor waited for', async () => {
  const world = await open({ durationMs: { min: 60_000, max: 60_000 } });
  const theirs = world.buy([ask('a')]);
  await followed(world);
  expect(await world.buy([ask('a')], { ending: 'cancel', yieldAfterMs: 100 })).toMatchObject({ complete: false });
  expect(world.service.agents.inProgress()).toBe(1);
  for (const run of world.service.agents.runs.values()) run.endsAt = 0;
  expect(await theirs).toMatchObject({ complete: true, bought: 1 });
});

it('the runs of all slices of a cancelled job are ended, also of the last slice of a range, and no others', async () => {
  const world = await open({ durationMs: { min: 60_000, max: 60_000 } });
  const slices = ['a', 'b', 'c', 'd'].map((query) => [ask(query), ask(`${query}, beyond the limit`)]);
  // Slice 3 has a row beyond the limit of the job. The run of that row belongs to another job.
  const rowsPerSlice = 2;
  const staged = {
    job: world.deps.origin.replace(' ', '-'),
    generation: 'gen',
    operation: 'agent',
    options: {},
    unitColumn: null,
    ...{ rows: 8, limit: 7, slices: 4, rowsPerSlice },
  } as unknown as StagedJob;
  const fileOf = (slice: number) => join(setting.folder, `${staged.job}-${slice}.jsonl.gz`);
  for (const [slice, requests] of slices.entries()) {
    const rows = requests.map((request, nth) => ({
      ...{ n: slice * rowsPerSlice + nth + 1, k: world.keyOf(request), u: canonicalJson(request) },
    }));
    writeFileSync(fileOf(slice), gzipSync(rows.map((row) => `${JSON.stringify(row)}\n`).join('')));
  }
  const buying = world.buy(slices.flat());
  await expect.poll(() => world.service.agents.inProgress(), { timeout: 20_000, interval: 10 }).toBe(8);
  // A run has its slot once the note of its start is on the disk.
  const isNoted = (id: string) => world.deps.runs.agent.claimed(id, 'another purchase');
  const notes = () => Promise.all([...world.service.agents.runs.keys()].map(isNoted));
  await expect.poll(notes, { timeout: 20_000, interval: 10 }).not.toContain(false);
  world.stop.abort(new Error('cancelled'));
  await buying;
  const deps: ActivityDeps = {
    ...world.deps,
    stages: { ...world.deps.stages, slice: async (_, slice) => fileOf(slice) },
    staged: async () => ({ staged, csv: null, beforeMicros: 0 }),
  };
  const ranges = [[0, 0] as const, [2, 3] as const];
  const ended = await attempt(createEndRuns(deps), { staged, slices: ranges, resumedAt: 0, withinMs: 20_000 });
  expect(ended).toEqual({ runs: 5, costMicros: 5 * 250_000, left: 0 });
  const going = [...world.service.agents.runs.values()].filter(({ endsAt }) => endsAt > performance.now());
  expect(going.map(({ request }) => request.query).sort()).toEqual(['b', 'b, beyond the limit', 'd, beyond the limit']);
  // The cancelled runs are not used as answers for another job with the same request.
  expect(await world.deps.journal.lookup([world.keyOf(ask('a'))])).toEqual([]);
});

describe('a purchase of runs with a budget', () => {
  const budgets = ({ service }: World) => [...service.agents.runs.values()].map(({ request }) => request.budget);

  it('sends metered runs with the remaining budget, and starts none with less than a dollar', async () => {
    const world = await open({ costDollars: 2 });
    const cap = { bookPrefix: `${world.deps.origin.replace(' ', '-')}/`, limitMicros: 6_505_000 };
    const requests = ['a', 'b', 'c', 'd'].map((query) => ask(query, { effort: 'auto' }));
    const buying = world.buy(requests, { cap });
    await expect(buying).rejects.toThrow(OverBudget);
    expect(budgets(world)).toEqual([{ maxCostDollars: 5 }, { maxCostDollars: 4.5 }, { maxCostDollars: 2.5 }]);
    expect(await totalsOf(world)).toMatchObject({ costMicros: 6_000_000, openMicros: 0 });
  });

  it('keeps a lower budget of the request, and sends fixed efforts unchanged', async () => {
    const world = await open({ costDollars: 0.1 });
    const cap = { bookPrefix: `${world.deps.origin.replace(' ', '-')}/`, limitMicros: 100_000_000 };
    await world.buy([ask('a', { effort: 'max', budget: { maxCostDollars: 3 } }), ask('b', { effort: 'high' })], {
      cap,
    });
    expect(budgets(world).sort()).toEqual([{ maxCostDollars: 3 }, undefined]);
  });

  it('limits one call to its maximum cost', async () => {
    const world = await open({ costDollars: 1 });
    await world.buy([ask('a', { effort: 'auto' })], { mostMicros: 1_500_000 });
    expect(budgets(world)).toEqual([{ maxCostDollars: 1.5 }]);
    await expect(world.buy([ask('b', { effort: 'auto' })], { mostMicros: 900_000 })).rejects.toThrow(OverBudget);
    expect(world.service.agents.starts).toHaveLength(1);
  });
});
