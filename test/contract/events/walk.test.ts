import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../../src/sandbox/index.js';
import { expectAll } from '../../support/events/expect-all.js';
import { allEvents } from '../../support/events/made-events.js';
import { WalkSetting } from '../../support/events/walk-setting.js';
import { openTemporal } from '../../support/temporal.js';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => {
  temporal = await openTemporal();
});
afterAll(() => temporal?.teardown());

const from = '2025-01-01T00:00:00.000Z';
const to = '2025-02-01T00:00:00.000Z';
const soon = { timeout: 30_000, interval: 50 };

let setting: WalkSetting;
afterEach(() => setting.close());
const open = async (events: SandboxOptions['events'] = {}, more: Partial<SandboxOptions> = {}) => {
  setting = await WalkSetting.open(temporal, { count: 1200, from, to, ...events }, more);
  return setting;
};

describe.each(['newest', 'oldest'] as const)('with the %s events first', (order) => {
  it('a sync loads everything once, and the next one only new events, from 15 minutes before the watermark', async () => {
    await open({ order });
    const first = await (await setting.sync()).result();
    expect(first).toMatchObject({ stream: 'sync', phase: 'done', events: 1200, added: 1200, changed: 0 });
    await expectAll(setting);
    const newest = (await allEvents(setting.sandbox))
      .map(({ createdAt }) => Date.parse(createdAt))
      .sort()
      .at(-1);
    expect(first.watermark).toBe(newest);
    const before = setting.pages();
    const second = await (await setting.sync()).result();
    expect(second).toMatchObject({ added: 0, watermark: newest, windows: 1 });
    // One page, and one request for the time of the service: the overlap.
    expect(setting.pages() - before).toBe(2);
  });

  it('a backfill walks many windows at once, splits the large ones, and is already done at the second run', async () => {
    await open({ order, count: 9000, sameTimestamp: 30 });
    const run = await setting.backfill({ from, until: to, parallel: 8 });
    const summary = await run.result();
    expect(summary).toMatchObject({ phase: 'done', added: 9000 });
    expect(summary.windows).toBeGreaterThan(1);
    await expectAll(setting);
    const before = setting.pages();
    expect(await (await setting.backfill({ from, until: to })).result()).toMatchObject({ events: 0, added: 0 });
    expect(setting.pages()).toBe(before);
  });

  it('fault 52: nothing is lost or doubled with late events, repeated records and shifting pages', async () => {
    const now = Date.now();
    const at = (minutes: number) => new Date(now - minutes * 60_000).toISOString();
    await open(
      {
        ...{ order, from: at(12), to: at(2), count: 1000, sameTimestamp: 5, paging: 'offset', arrivingPerSecond: 50 },
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
        return shown.size === 1000 && [...shown].every((id) => ids.get(id) === 1);
      }, soon)
      .toBe(true);
    expect([...(await setting.ids()).values()].every((times) => times === 1)).toBe(true);
  });
});

it('a backfill and a sync at once load everything once, and keep separate watermarks', async () => {
  await open({ count: 3000 }, { latencyMs: 5 });
  const [sync, backfill] = await Promise.all([
    setting.sync({ parallel: 1 }).then((run) => run.result()),
    setting.backfill({ from: '2025-01-10T00:00:00Z', until: '2025-01-20T00:00:00Z' }).then((run) => run.result()),
  ]);
  await expectAll(setting);
  const streams = await setting.query<{ stream: string; watermark: string }>(
    'SELECT stream, epoch_ms(watermark)::DOUBLE AS watermark FROM event_streams ORDER BY stream',
  );
  expect(streams).toEqual([
    { stream: 'backfill 2025-01-10T00:00:00.000Z..2025-01-20T00:00:00.000Z', watermark: backfill.watermark },
    { stream: 'sync', watermark: sync.watermark },
  ]);
  expect(backfill.watermark).toBeLessThanOrEqual(Date.parse('2025-01-20T00:00:00Z'));
});

/** Takes events out of the warehouse, as if they had not been listed yet. */
async function remove(which: string): Promise<void> {
  await setting.query('SELECT 1 AS one');
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(setting.folder.into);
  const connection = await instance.connect();
  await connection.run(`DELETE FROM events WHERE ${which}`);
  connection.closeSync();
  instance.closeSync();
}

it('a backfill without an end loads late events at its next run: it reads the last 15 minutes again', async () => {
  const at = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  const since = at(60);
  await open({ from: since, to: at(2) });
  const backfill = async () => (await setting.backfill({ from: since })).result();
  expect(await backfill()).toMatchObject({ phase: 'done', added: 1200 });
  await remove(`created_at > TIMESTAMP '${at(10).slice(0, -1)}'`);
  const late = 1200 - (await setting.ids()).size;
  expect(late).toBeGreaterThan(50);
  // The service reports its time in seconds, possibly the last one: within the same second there is nothing more to read.
  const read = Math.floor(Date.now() / 1000);
  await expect.poll(() => Math.floor(Date.now() / 1000), soon).toBeGreaterThan(read + 1);
  expect(await backfill()).toMatchObject({ phase: 'done', added: late });
  expect((await setting.ids()).size).toBe(1200);
});

it('repairs on verification the events that the warehouse lacks', async () => {
  await open();
  await (await setting.backfill({ from, until: to })).result();
  await remove('hash(id) % 10 = 0');
  const lacking = 1200 - (await setting.ids()).size;
  expect(lacking).toBeGreaterThan(50);
  const summary = await (await setting.backfill({ from, until: to, verify: true })).result();
  expect(summary).toMatchObject({ events: 1200, added: lacking, changed: 0 });
  await expectAll(setting);
});

it('reports all problems of dates', async () => {
  await open();
  await expect((await setting.backfill({ from: 'yesterday' })).result()).rejects.toMatchObject({
    cause: { type: 'BadInput' },
  });
  await expect((await setting.backfill({ from: to, until: from })).result()).rejects.toMatchObject({
    cause: { type: 'BadInput' },
  });
});
