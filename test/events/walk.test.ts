import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/index.js';
import { startTemporal } from '../jobs/temporal.js';
import { allEvents, type MadeEvent } from './made-events.js';
import { currentState } from './oracle.js';
import { WalkSetting } from './walk-setting.js';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal?.teardown());

const from = '2025-01-01T00:00:00.000Z';
const to = '2025-02-01T00:00:00.000Z';
const soon = { timeout: 30_000, interval: 50 };

let setting: WalkSetting;
afterEach(() => setting.close());
const open = async (events: SandboxOptions['events'] = {}, more: Partial<SandboxOptions> = {}) => {
  setting = await WalkSetting.open(temporal, { count: 3000, from, to, ...events }, more);
  return setting;
};

/** Every event that the service shows is in the warehouse once, and the state is what one reading in order makes of them. */
async function expectAll(expected?: readonly MadeEvent[]): Promise<void> {
  const events = expected ?? (await allEvents(setting.sandbox));
  const ids = await setting.ids();
  expect(ids.size).toBe(events.length);
  expect([...ids.values()].every((times) => times === 1)).toBe(true);
  expect(events.filter(({ id }) => !ids.has(id))).toEqual([]);
  const state = currentState(events);
  for (const table of ['websets', 'webset_searches', 'webset_items', 'webset_monitors']) {
    const rows = await setting.query<{ id: string; data: string }>(`SELECT id, data FROM ${table} ORDER BY id`);
    const wanted = [...(state.get(table) ?? [])].sort(([left], [right]) => (left < right ? -1 : 1));
    expect(rows.map(({ id, data }) => [id, JSON.parse(data)])).toEqual(wanted.map(([id, { data }]) => [id, data]));
  }
}

describe.each(['newest', 'oldest'] as const)('with the %s events first', (order) => {
  it('a sync loads everything once, and the next one what is new, from 15 minutes before', async () => {
    await open({ order });
    const first = await (await setting.sync()).result();
    expect(first).toMatchObject({ stream: 'sync', phase: 'done', events: 3000, added: 3000, changed: 0 });
    await expectAll();
    const newest = (await allEvents(setting.sandbox))
      .map(({ createdAt }) => Date.parse(createdAt))
      .sort()
      .at(-1);
    expect(first.watermark).toBe(newest);
    const before = setting.pages();
    const second = await (await setting.sync()).result();
    expect(second).toMatchObject({ added: 0, watermark: newest, windows: 1 });
    // Its own look at the clock, and one page: the overlap.
    expect(setting.pages() - before).toBe(2);
  });

  it('a backfill walks many windows at once, splits the heavy ones, and a second time finds it done', async () => {
    await open({ order, count: 20_000, sameTimestamp: 30 });
    const run = await setting.backfill({ from, until: to, parallel: 8 });
    const summary = await run.result();
    expect(summary).toMatchObject({ phase: 'done', added: 20_000 });
    expect(summary.windows).toBeGreaterThan(2);
    await expectAll();
    const before = setting.pages();
    expect(await (await setting.backfill({ from, until: to })).result()).toMatchObject({ events: 0, added: 0 });
    expect(setting.pages()).toBe(before);
  });

  it('fault 52: nothing is lost or doubled with late events, repeated records and pages that shift meanwhile', async () => {
    const now = Date.now();
    const at = (minutes: number) => new Date(now - minutes * 60_000).toISOString();
    await open(
      {
        ...{ order, from: at(12), to: at(2), count: 2000, sameTimestamp: 5, paging: 'offset', arrivingPerSecond: 50 },
        ...{ late: 0.2, lateMs: { min: 60_000, max: 125_000 } },
      },
      { faults: [{ when: { every: 3 }, do: { kind: 'results', change: 'repeat' } }] },
    );
    /** Ids of the history; an event that moved while it was listed is in the list twice. */
    const inTime = async () =>
      new Set(
        (await allEvents(setting.sandbox))
          .filter(({ createdAt }) => createdAt <= at(2) && createdAt >= at(12))
          .map(({ id }) => id),
      );
    await expect
      .poll(async () => {
        await (await setting.sync()).result();
        const ids = await setting.ids();
        const shown = await inTime();
        return shown.size === 2000 && [...shown].every((id) => ids.get(id) === 1);
      }, soon)
      .toBe(true);
    expect([...(await setting.ids()).values()].every((times) => times === 1)).toBe(true);
  });
});

it('a backfill and a sync at once load everything once, and leave each other’s marks alone', async () => {
  await open({ count: 12_000 }, { latencyMs: 5 });
  const [sync, backfill] = await Promise.all([
    setting.sync({ parallel: 1 }).then((run) => run.result()),
    setting.backfill({ from: '2025-01-10T00:00:00Z', until: '2025-01-20T00:00:00Z' }).then((run) => run.result()),
  ]);
  await expectAll();
  const streams = await setting.query<{ stream: string; watermark: string }>(
    'SELECT stream, epoch_ms(watermark)::DOUBLE AS watermark FROM event_streams ORDER BY stream',
  );
  expect(streams).toEqual([
    { stream: 'backfill 2025-01-10T00:00:00.000Z..2025-01-20T00:00:00.000Z', watermark: backfill.watermark },
    { stream: 'sync', watermark: sync.watermark },
  ]);
  expect(backfill.watermark).toBeLessThanOrEqual(Date.parse('2025-01-20T00:00:00Z'));
});

it('goes on at the last landed cursor when another worker takes over', async () => {
  await open({ count: 8000 }, { latencyMs: 30 });
  const run = await setting.sync({ parallel: 1 });
  await expect.poll(async () => (await setting.pages()) > 15, soon).toBe(true);
  await setting.anotherHost();
  expect(await run.result()).toMatchObject({ phase: 'done', added: 8000 });
  // 40 pages: the clock, and little of it twice.
  expect(setting.pages()).toBeLessThan(60);
  await expectAll();
});

it('is paused and goes on where it was', async () => {
  await open({ count: 8000 }, { latencyMs: 30 });
  const run = await setting.sync({ parallel: 1 });
  await expect.poll(() => setting.pages() > 10, soon).toBe(true);
  await run.pause();
  await expect.poll(run.activities, soon).toBe(0);
  expect(await run.progress()).toMatchObject({ phase: 'paused', pausedFor: 'person', windowsDone: 0 });
  const before = setting.pages();
  await run.resume();
  expect(await run.result()).toMatchObject({ phase: 'done', added: 8000 });
  expect(setting.pages() - before).toBeLessThan(35);
  await expectAll();
});

it('waits for a person where the service refuses the key; a scheduled run ends instead, and the next one goes on', async () => {
  const refuse = (times: number) => ({ when: {}, do: { kind: 'status' as const, status: 401 }, limit: times });
  await open();
  for (const nth of [1, 2]) {
    setting.sandbox.setFaults([{ ...refuse(1), when: { nth } }]);
    const stopped = await (await setting.sync({ scheduled: true })).result();
    expect(stopped).toMatchObject({ phase: 'stopped', added: 0, stream: 'sync' });
    expect(stopped.message).toContain('401');
  }
  for (const nth of [1, 2]) {
    setting.sandbox.setFaults([{ ...refuse(1), when: { nth } }]);
    const run = await setting.sync();
    await expect.poll(async () => (await run.progress()).pausedFor, soon).toBe('key');
    await run.resume();
    expect(await run.result()).toMatchObject({ phase: 'done' });
  }
  await expectAll();
});

it('sits out what passes: 500s, lost connections, cut answers and a Retry-After', async () => {
  await open(
    { count: 6000 },
    {
      faults: [
        { when: { every: 7 }, do: { kind: 'status', status: 500 } },
        { when: { every: 11 }, do: { kind: 'reset', moment: 'after' } },
        { when: { every: 13 }, do: { kind: 'truncate', fraction: 0.5 } },
        { when: { nth: 9 }, do: { kind: 'status', status: 429, retryAfter: '1' } },
      ],
    },
  );
  expect(await (await setting.sync()).result()).toMatchObject({ phase: 'done', added: 6000 });
  setting.sandbox.setFaults([]);
  await expectAll();
});

it('begins a window anew, in halves, when its cursor expires', async () => {
  await open({ count: 6000, cursorTtlMs: 400 }, { latencyMs: { min: 5, max: 30 } });
  const run = await setting.backfill({ from, until: to, parallel: 1 });
  await expect.poll(() => setting.pages() > 5, soon).toBe(true);
  await run.pause();
  await expect.poll(run.activities, soon).toBe(0);
  const paused = Date.now();
  await expect.poll(() => Date.now() - paused > 500, soon).toBe(true);
  await run.resume();
  const summary = await run.result();
  expect(summary.windows).toBeGreaterThan(1);
  await expectAll();
});

it('loads only the types it is told, as a stream of its own', async () => {
  await open();
  const types = ['webset.item.created', 'webset.deleted'];
  expect(await (await setting.sync({ types })).result()).toMatchObject({
    stream: `sync ${[...types].sort().join(',')}`,
  });
  const found = await setting.query<{ type: string }>('SELECT DISTINCT type FROM events ORDER BY type');
  expect(found.map(({ type }) => type)).toEqual([...types].sort());
  expect(await (await setting.sync()).result()).toMatchObject({ events: 3000 });
  await expectAll();
});

it('mends on verification what the warehouse lacks', async () => {
  await open();
  await (await setting.backfill({ from, until: to })).result();
  await setting.query('SELECT 1 AS one');
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(setting.folder.into);
  const connection = await instance.connect();
  await connection.run('DELETE FROM events WHERE hash(id) % 10 = 0');
  connection.closeSync();
  instance.closeSync();
  const lacking = 3000 - (await setting.ids()).size;
  expect(lacking).toBeGreaterThan(100);
  const summary = await (await setting.backfill({ from, until: to, verify: true })).result();
  expect(summary).toMatchObject({ events: 3000, added: lacking, changed: 0 });
  await expectAll();
});

it('says what is wrong with dates', async () => {
  await open({ count: 1000 });
  await expect((await setting.backfill({ from: 'yesterday' })).result()).rejects.toMatchObject({
    cause: { type: 'BadInput' },
  });
  await expect((await setting.backfill({ from: to, until: from })).result()).rejects.toMatchObject({
    cause: { type: 'BadInput' },
  });
});
