import { expect, it } from 'vitest';
import { allEvents } from '../../suites/made-events.js';
import { expectAll } from './expect-all.js';
import { from, to, type walkSettings } from './walk-setting.js';

type Order = 'newest' | 'oldest';
interface Orders {
  readonly sync: readonly Order[];
  readonly backfill: readonly Order[];
  readonly late: readonly Order[];
}

const soon = { timeout: 30_000, interval: 50 };

/** Runs tests of walks with each of these orders of the list of events. */
export function walkTests(orders: Orders, walks: ReturnType<typeof walkSettings>): void {
  const { open } = walks;
  it.each(orders.sync)(
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

  it.each(orders.backfill)(
    'with the %s events first, a backfill walks many windows at once, splits the large ones, and is already done at the second run',
    async (order) => {
      await open({ order, count: 9000, sameTimestamp: 30 });
      const run = await walks.setting.backfill({ from, until: to, parallel: 8 });
      const summary = await run.result();
      expect(summary).toMatchObject({ phase: 'done', added: 9000 });
      expect(summary.windows).toBeGreaterThan(1);
      await expectAll(walks.setting);
      const before = walks.setting.pages();
      expect(await (await walks.setting.backfill({ from, until: to })).result()).toMatchObject({ events: 0, added: 0 });
      expect(walks.setting.pages()).toBe(before);
    },
  );

  it.each(orders.late)(
    'fault 52, with the %s events first: nothing is lost or doubled with late events, repeated records and shifting pages',
    async (order) => {
      const now = Date.now();
      const at = (minutes: number) => new Date(now - minutes * 60_000).toISOString();
      await open(
        {
          ...{ order, from: at(12), to: at(2), count: 1000, sameTimestamp: 5, paging: 'offset', arrivingPerSecond: 50 },
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
    },
  );
}
