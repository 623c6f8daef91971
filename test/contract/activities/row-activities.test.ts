import { expect, it, onTestFinished } from 'vitest';
import type { ActivityDeps } from '../../../src/activities/index.js';
import { createEnrichSlice } from '../../../src/activities/rows/enrich-slice.js';
import { createJobActivities, type PausedJob } from '../../../src/activities/rows/job.js';
import type { JobEntry, StagedJob } from '../../../src/core/job-entry-schemas.js';
import type { SliceInput } from '../../../src/core/rows/job.js';
import { jobRecord } from '../../../src/core/rows/row-warehouse.js';
import { readSlice } from '../../../src/rows/index.js';
import { createWarehouses } from '../../../src/warehouse/index.js';
import { startService } from '../../service/service.mjs';
import { stageText } from '../../suites/row-job.js';
import { ActivitySetting, attempt, logged, quiet } from '../../support/activities/activity-setting.js';
import { Folder } from '../../support/jobs/folder.js';
import { ofFile } from '../../support/of-file.js';
import { runInDuckDb } from '../../support/warehouse/read-duckdb.js';

const service = ofFile(startService);

/** A job of six rows in slices of two, with a journal and a warehouse. `journal`: uses the journal of another worker. */
async function open({ into, journal }: { readonly into?: Folder; readonly journal?: ActivitySetting } = {}) {
  const folder = into ?? new Folder();
  const setting = journal ?? (await ActivitySetting.open());
  const warehouse = createWarehouses().open(folder.into);
  onTestFinished(async () => {
    await warehouse.close();
    if (!journal) await setting.close();
    if (!into) folder.remove();
  });
  const urls = Array.from({ length: 6 }, (_, index) => `https://site-${index}.example/`);
  const { record, files } = await stageText(folder.dir, ['url', ...urls, ''].join('\n'), { rowsPerSlice: 2 });
  const staged = {
    ...{ ...record, into: folder.into, unitColumn: 'url', batch: 100, badRows: 0, distinctUnits: 6 },
    ...{ rowsPerSlice: 2, window: 2, stageDir: folder.dir },
  } as unknown as StagedJob;
  const states: object[] = [];
  let opened: JobEntry['opened'];
  const deps: ActivityDeps = {
    ...setting.worker({ baseUrl: service.url }),
    stages: {
      share: async () => undefined,
      slice: async (_, slice) => files[slice] as string,
      forget: async () => 0,
      rewrite: async () => undefined,
    },
    staged: async ({ limit }) => ({
      ...{ staged: limit === undefined ? staged : { ...staged, limit }, csv: null },
      beforeMicros: opened?.beforeMicros ?? 0,
    }),
    noteOpened: async (_, now) => {
      if (opened?.run !== now.run) opened = now;
    },
    warehouseFor: () => warehouse.rows,
    noteState: async (_, state) => void states.push(state),
  };
  const { openJob, jobSpent, finishJob } = createJobActivities(deps);
  const named = (limit?: number) => (limit === undefined ? staged : { ...staged, limit });
  const asked = () => service.log.flatMap(({ body }) => (body as { urls?: string[] } | null)?.urls ?? []);
  const began = asked().length;
  const world = {
    ...{ folder, setting, staged, states, deps, files, warehouse },
    /** The numbers of the sites that were bought, in order. */
    bought: () =>
      asked()
        .slice(began)
        .map((url) => Number(/site-(\d)/.exec(url)?.[1]))
        .sort(),
    open: (limit?: number, runId = 'first'): ReturnType<typeof openJob> =>
      quiet({ workflowExecution: { workflowId: 'w', runId } }).run(openJob, { staged: named(limit) }),
    slice: (slice: number, changes: Partial<SliceInput> = {}, worker: Partial<ActivityDeps> = {}) =>
      attempt(createEnrichSlice({ ...deps, ...worker }), {
        ...{ staged, slice, carried: false, adopts: false, startedAt: 0, resumedAt: 0 },
        ...changes,
      }),
    spent: (slices: readonly number[], changes: Partial<PausedJob> = {}) =>
      attempt(jobSpent, {
        job: staged.job,
        startedAt: 1,
        paused: { staged, slices, why: { reason: 'person', message: 'paused by a person' }, since: 7, ...changes },
      }),
    finish: (before: Awaited<ReturnType<typeof openJob>>['before'], limit?: number) =>
      attempt(finishJob, {
        staged: named(limit),
        csv: null,
        startedAt: Date.now(),
        before,
        run: `run ${began}`,
      }),
    /** Deletes rows from the warehouse, as if an older copy of the warehouse had been restored. */
    async lose(...rows: readonly number[]) {
      await warehouse.close();
      await runInDuckDb(folder.into, `DELETE FROM row_store WHERE row_number IN (${rows.join(', ')})`);
    },
  };
  return world;
}

it('a run of a job counts its own purchases, and the next run of the same rows buys nothing', async () => {
  const w = await open();
  const first = await w.open();
  expect(first).toMatchObject({ slices: [0, 1, 2], carried: false, adopts: false, before: { requests: 0 } });
  expect(first.loaded).toBeUndefined();
  for (const slice of first.slices)
    expect(await w.slice(slice)).toMatchObject({ complete: true, rows: 2, requests: 1, bought: 2 });
  const summary = await w.finish(first.before);
  expect(summary).toMatchObject({
    phase: 'done',
    requests: 3,
    unknownOutcomes: 0,
    warehouse: { success: 6, missing: 0 },
  });
  expect(summary.costMicros).toBe(summary.totalCostMicros);
  expect(w.states).toMatchObject([
    { phase: 'running', since: 0 },
    { phase: 'running' },
    { phase: 'running' },
    { phase: 'done', counts: summary.warehouse },
  ]);
  const second = await w.open();
  expect(second).toMatchObject({ slices: [], carried: true, adopts: true, loaded: { failed: 0, partial: [] } });
  const again = await w.finish(second.before);
  expect(again).toMatchObject({ requests: 0, costMicros: 0, estimateMicros: 0, totalCostMicros: summary.costMicros });
  expect(w.bought()).toEqual([0, 1, 2, 3, 4, 5]);
});

it('a job with a limit buys only the first rows, and without it only the others', async () => {
  const w = await open();
  const first = await w.open(3);
  expect(first.slices).toEqual([0, 1]);
  const limited = { staged: { ...w.staged, limit: 3 } };
  await w.slice(0, limited);
  expect(await w.slice(1, limited)).toMatchObject({ complete: true, rows: 1, bought: 1 });
  logged.length = 0;
  expect(await w.finish(first.before, 3)).toMatchObject({ limit: 3, warehouse: { success: 3 } });
  expect(logged).toEqual([]);
  expect(w.bought()).toEqual([0, 1, 2]);
  const second = await w.open();
  // Slice 1 has a row beyond the limit, so the slice is pending; its other row counts as loaded.
  expect(second).toMatchObject({ slices: [1, 2], carried: true, loaded: { failed: 0, partial: [[1, 1]] } });
  for (const slice of second.slices) await w.slice(slice, { carried: true });
  expect(await w.finish(second.before)).toMatchObject({ warehouse: { success: 6 } });
  expect(w.bought()).toEqual([0, 1, 2, 3, 4, 5]);
});

it('rows that a warehouse has lost are loaded again from the journal at the end of a job, and not bought', async () => {
  const w = await open();
  const { before, slices } = await w.open();
  for (const slice of slices) await w.slice(slice);
  await w.lose(3, 6);
  logged.length = 0;
  expect(await w.finish(before)).toMatchObject({ requests: 3, warehouse: { success: 6, missing: 0 } });
  expect(logged).toEqual([expect.stringContaining('has lost rows that were loaded')]);
  expect(w.bought()).toHaveLength(6);
  // If neither journal nor warehouse has the answers, the job fails with the reason.
  await w.lose(3);
  const lost = await open({ into: w.folder });
  await expect(lost.finish(before)).rejects.toThrow('the journal lacks the answers of 1');
});

it('rows of a limited job that a warehouse has lost are loaded again, also in the slice that the limit cuts', async () => {
  const w = await open();
  const { before } = await w.open(3);
  const limited = { staged: { ...w.staged, limit: 3 } };
  for (const slice of [0, 1]) await w.slice(slice, limited);
  await w.lose(3);
  expect(await w.finish(before, 3)).toMatchObject({ warehouse: { success: 3 } });
  expect(w.bought()).toEqual([0, 1, 2]);
});

it('a pause loads the landed answers of interrupted slices, and their other rows are bought after it', async () => {
  const w = await open();
  await w.open();
  const [first] = await readSlice(w.files[1] as string);
  const { k: key, u: unit } = first as { k: string; u: string };
  const { journal } = w.deps;
  await journal.claim([key], 'killed');
  const segment = `${w.staged.job}/${w.staged.generation}/000001`;
  const intent = { owner: 'killed', segment, operation: 'contents', keys: [key], estimateMicros: 1000 };
  const id = await journal.intend({ ...intent, deadline: Date.now() + 60_000 });
  const landed = { key, unit, status: 'success' as const, errorTag: null, httpStatus: null, source: null };
  const units = [{ ...landed, costMicros: 900, result: { url: unit, text: 'landed' } }];
  await journal.land(id, { requestId: 'req', fetchedAt: Date.now(), units });
  // One more request is in flight, and another one got no answer. Both count against the budget.
  const others = ['a', 'b'].map((name) => ({ ...intent, keys: [name.repeat(32)], deadline: Date.now() + 60_000 }));
  const [, lost] = await Promise.all(others.map((other) => journal.intend(other)));
  await journal.miss(lost as string, 'connection reset', 'maybe');
  expect(await w.spent([0, 1])).toMatchObject({
    ...{ requests: 1, costMicros: 900, committedMicros: 2900, unknownOutcomes: 1 },
    loaded: { failed: 0, partial: [[1, 1]] },
  });
  expect(w.states).toMatchObject([
    { phase: 'paused', reason: 'person', since: 7, counts: { rows: 6, success: 1, missing: 5 } },
  ]);
  expect(await w.open()).toMatchObject({ slices: [0, 1, 2] });
  expect(await w.slice(1, { carried: true })).toMatchObject({ complete: true, bought: 1 });
  expect(w.bought()).toEqual([3]);
});

it('answers in the warehouse that the journal lacks are taken, unless a person asks to buy them again', async () => {
  const w = await open();
  for (const slice of (await w.open()).slices) await w.slice(slice);
  // A worker with an empty journal finds the answers in the warehouse.
  const other = await open({ into: w.folder });
  // For the same job no row is missing.
  expect(await other.slice(2, { carried: true })).toMatchObject({ complete: true, rows: 2, requests: 0 });
  const another = { ...other.staged, job: 'brands-2', name: 'brands-2' };
  const staged = async () => ({ staged: another, csv: null, beforeMicros: 0 });
  const { openJob } = createJobActivities({ ...other.deps, staged });
  expect(await attempt(openJob, { staged: another })).toMatchObject({ adopts: true, carried: false });
  expect(await other.slice(0, { adopts: true }, { staged })).toMatchObject({ complete: true, rows: 2, requests: 0 });
  expect(other.bought()).toEqual([]);
  const rebuy = { rebuyBefore: Date.now() + 60_000 };
  expect(await other.slice(1, { adopts: true, freshness: rebuy }, { staged })).toMatchObject({ requests: 1 });
  expect(other.bought()).toEqual([2, 3]);
});

it('a pause by a budget is recorded with what is spent and what is held, for a status without a worker', async () => {
  const w = await open();
  const { before } = await w.open();
  await w.slice(0);
  const { costMicros } = await w.deps.journal.totals(`${w.staged.job}/`);
  await w.deps.journal.claim(['a'.repeat(32)], 'owner');
  const sent = { owner: 'owner', operation: 'contents', keys: ['a'.repeat(32)], estimateMicros: 250_000 };
  await w.deps.journal.intend({ ...sent, segment: `${w.staged.job}/g/000009`, deadline: Date.now() + 60_000 });
  const details = { scope: 'job', capMicros: 300_000, remainingMicros: 0, resetsAt: null };
  const failure = { type: 'BudgetExceeded', message: 'the budget', details };
  await w.spent([], { cause: { failure, before, resumable: 'rows', maxCostMicros: 300_000 } });
  expect(w.states.at(-1)).toMatchObject({
    phase: 'paused',
    reason: 'budget',
    message: expect.stringContaining(
      `$${costMicros / 1e6} of this run's budget of $0.30 is spent, $0.25 is held for requests in flight, and the rest`,
    ),
  });
});

it('a worker records a job as running once for each start and resume', async () => {
  const w = await open();
  await w.open();
  const enrichSlice = createEnrichSlice(w.deps);
  const input = { staged: w.staged, carried: false, adopts: false, startedAt: 0 };
  await attempt(enrichSlice, { ...input, slice: 0, resumedAt: 1 });
  await attempt(enrichSlice, { ...input, slice: 1, resumedAt: 1 });
  await attempt(enrichSlice, { ...input, slice: 2, resumedAt: 2 });
  expect(w.states).toEqual([
    { phase: 'running', since: 1 },
    { phase: 'running', since: 2 },
  ]);
});

it('the lower of the caps of a run and of its worker holds, and a refusal names it', async () => {
  const w = await open();
  await w.open();
  const details = (slice: number, changes: Partial<SliceInput>, maxCostPerJobMicros: number) =>
    w.slice(slice, changes, { maxCostPerJobMicros }).then(
      () => null,
      (error: { details?: unknown[] }) => error.details?.[0],
    );
  expect(await details(0, {}, 1)).toMatchObject({ scope: 'worker', capMicros: 1 });
  expect(await details(0, { limitMicros: 5 }, 3)).toMatchObject({ scope: 'worker', capMicros: 3 });
  expect(await details(0, { limitMicros: 2 }, 3)).toMatchObject({ scope: 'job', capMicros: 2 });
  expect(w.bought()).toEqual([]);
  expect(await details(0, {}, 1_000_000)).toBeNull();
  const { costMicros } = await w.deps.journal.totals(`${w.staged.job}/`);
  // A run that is opened again has the cost from its first opening.
  await w.open(undefined, 'second');
  expect(await details(1, {}, costMicros)).toBeNull();
  await w.open(undefined, 'second');
  const forged = { spentBeforeMicros: 1e12, cap: { bookPrefix: 'other/', limitMicros: 1 } } as Partial<SliceInput>;
  expect(await details(2, forged, costMicros)).toMatchObject({ scope: 'worker' });
});

it('a job whose rows are staged again keeps the time of its creation', async () => {
  const w = await open();
  await w.open();
  const created = async () => {
    await w.warehouse.close();
    return w.folder.query('SELECT generation, created_at::VARCHAR AS at FROM searchflow_jobs');
  };
  const [before] = (await created()) as [{ readonly at: string }];
  await w.warehouse.rows.openJob(jobRecord({ ...w.staged, generation: 'another' }), w.files);
  expect(await created()).toEqual([{ generation: 'another', at: before.at }]);
});
