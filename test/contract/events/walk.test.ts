import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { allEvents, expectAll } from '../../support/events/expect-all.js';
import { from, to, walkSettings } from '../../support/events/walk-setting.js';
import { openTemporal } from '../../support/temporal.js';

const soon = { timeout: 30_000, interval: 50 };
const walks = walkSettings(openTemporal);
const { open } = walks;

it.each(['newest', 'oldest'] as const)(
  'with the %s events first, a sync loads everything once, and the next one only new events, from 15 minutes before the watermark',
  async (order) => {
    await open({ order });
    const first = await (await walks.setting.sync()).result();
    expect(first).toMatchObject({ stream: 'sync', phase: 'done', events: 1200, added: 1200, changed: 0 });
    await expectAll(walks.setting);
    const newest = (await allEvents(walks.setting.sandbox))
      .map(({ createdAt }) => Date.parse(createdAt))
      .sort()
      .at(-1);
    expect(first.watermark).toBe(newest);
    const before = walks.setting.pages();
    const second = await (await walks.setting.sync()).result();
    expect(second).toMatchObject({ added: 0, watermark: newest, windows: 1 });
    // One page has the overlap, the other one gives the service's time.
    expect(walks.setting.pages() - before).toBe(2);
  },
);

it('a backfill walks many windows at once, splits the large ones, and is already done at the second run', async () => {
  await open({ order: 'newest', count: 9000, sameTimestamp: 30 });
  const run = await walks.setting.backfill({ from, until: to, parallel: 8 });
  const summary = await run.result();
  expect(summary).toMatchObject({ phase: 'done', added: 9000 });
  expect(summary.windows).toBeGreaterThan(1);
  await expectAll(walks.setting);
  const before = walks.setting.pages();
  expect(await (await walks.setting.backfill({ from, until: to })).result()).toMatchObject({ events: 0, added: 0 });
  expect(walks.setting.pages()).toBe(before);
});

it('fault 52: nothing is lost or doubled with late events, repeated records and shifting pages', async () => {
  const now = Date.now();
  const at = (minutes: number) => new Date(now - minutes * 60_000).toISOString();
  await open(
    {
      ...{
        order: 'oldest',
        from: at(12),
        to: at(2),
        count: 1000,
        sameTimestamp: 5,
        paging: 'offset',
        arrivingPerSecond: 50,
      },
      ...{ late: 0.2, lateMs: { min: 60_000, max: 125_000 } },
    },
    { faults: [{ when: { every: 3 }, do: { kind: 'results', change: 'repeat' } }] },
  );
  /** Ids of the events in the range. A set is needed, because the list has an event twice if pages shifted while it was read. */
  const inTime = async () =>
    new Set(
      (await allEvents(walks.setting.sandbox))
        .filter(({ createdAt }) => createdAt <= at(2) && createdAt >= at(12))
        .map(({ id }) => id),
    );
  await expect
    .poll(async () => {
      await (await walks.setting.sync()).result();
      const ids = await walks.setting.ids();
      const shown = await inTime();
      return shown.size === 1000 && [...shown].every((id) => ids.get(id) === 1);
    }, soon)
    .toBe(true);
  expect([...(await walks.setting.ids()).values()].every((times) => times === 1)).toBe(true);
});

it('a window that is paused in Temporal stops the requests of its walk, until it is unpaused', async () => {
  await open({ count: 3000 }, { latencyMs: 200 });
  const run = await walks.setting.backfill({ from, until: to });
  const { sandbox } = walks.setting;
  await expect.poll(() => sandbox.log().length, soon).toBeGreaterThan(3);
  const { workflowService, options } = run.handle.client;
  const { namespace } = options;
  const execution = { workflowId: run.handle.workflowId };
  const pending = async () => (await run.handle.describe()).raw.pendingActivities ?? [];
  const one = { namespace, execution, identity: 'a person', id: (await pending())[0]?.activityId };
  await workflowService.pauseActivity(one);
  await expect.poll(async () => (await pending()).map(({ paused }) => paused), soon).toEqual([true]);
  await expect.poll(async () => (await pending())[0]?.attempt ?? 0, soon).toBeGreaterThan(1);
  const sent = sandbox.log().length;
  await delay(2000);
  expect(sandbox.log().length).toBe(sent);
  await workflowService.unpauseActivity(one);
  await run.result();
  await expectAll(walks.setting);
});
