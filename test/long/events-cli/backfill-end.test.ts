import { afterEach, expect, it } from 'vitest';
import { WalkSetting } from '../../support/events/walk-setting.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
let setting: WalkSetting;
afterEach(() => setting.close());

it('a backfill without an end, or with one in the future, continues where it was when it is run again', async () => {
  setting = await WalkSetting.open(temporal, { count: 3000, from: minutesAgo(600), to: minutesAgo(2) });
  for (const until of [undefined, minutesAgo(-60)]) {
    const input = { from: minutesAgo(700), ...(until === undefined ? {} : { until }) };
    const first = await (await setting.backfill(input)).result();
    expect(first).toMatchObject({ phase: 'done', events: 3000 });
    // The service gives its time in whole seconds, possibly one second late. A backfill in the same second would find nothing more to read.
    const seconds = () => Math.floor(Date.now() / 1000);
    const then = seconds();
    await expect.poll(seconds, { timeout: 10_000, interval: 50 }).toBeGreaterThan(then + 1);
    // The second backfill reads only the last 15 minutes before the watermark again.
    const second = await (await setting.backfill(input)).result();
    expect(second).toMatchObject({ phase: 'done', added: 0, windows: 1, watermark: first.watermark });
    expect(second.events).toBeGreaterThan(0);
    expect(second.events).toBeLessThan(400);
  }
});
