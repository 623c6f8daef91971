import { expect, it } from 'vitest';
import type { WalkSummary } from '../../../src/core/workflow-result-schemas.js';
import { startService } from '../../service/service.mjs';
import { closeAfterTest } from '../../support/after-test.js';
import { Folder } from '../../support/jobs/folder.js';
import { startHost } from '../../support/jobs/host.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const HOUR = 3_600_000;

it.each(['newest', 'oldest'] as const)(
  'fault 52: syncs find events that appear within a day, only a verification later ones; the %s events first',
  async (order) => {
    const [from, to] = [Date.now() - 30 * HOUR, Date.now() - HOUR];
    const times = { from, to, late: 0.3, lateMs: 80 * HOUR };
    const service = await startService({ events: { count: 800, order, arrivingPerSecond: 0, ...times } });
    const folder = Folder.ofTest();
    const config = folder.config(service.url);
    const host = await startHost(temporal, config);
    closeAfterTest(service, host);
    let walks = 0;
    const walk = (type: string, input: object) =>
      temporal.client.workflow.execute(type, {
        workflowId: `${config.taskQueue}-${++walks}`,
        taskQueue: config.taskQueue,
        args: [{ into: folder.into, ...input }],
      }) as Promise<WalkSummary>;
    const loaded = async () => {
      await (await host.parts.deps.events.warehouse({ into: folder.into })).close();
      const rows = await folder.query<{ id: string }>('SELECT id FROM events');
      expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
      return new Set(rows.map(({ id }) => id));
    };

    const reads: { at: number; seen: number; watermark: number | null }[] = [];
    for (let half = 0; half <= 12; half++) {
      const { watermark, events } = await walk('syncEvents', {});
      reads.push({ at: service.events.now(), seen: events, watermark });
      service.events.advance(12 * HOUR);
    }
    const happened = service.events.happened();
    const ids = await loaded();
    const found = (one: { readonly id: string }) => ids.has(one.id);
    const lateness = ({ at, seenAt }: (typeof happened)[number]) => seenAt - at;
    const soon = happened.filter((one) => lateness(one) <= 24 * HOUR);
    expect(soon.filter((one) => !found(one))).toEqual([]);
    expect(soon.filter((one) => lateness(one) > HOUR).length).toBeGreaterThan(20);
    // Events that came too late for every sweep. The last 15 minutes before the watermark are left out, because each sync reads them.
    const lost = happened.filter(
      (one) =>
        lateness(one) > 48 * HOUR && one.at < service.events.newest() - 15 * 60_000 && one.seenAt > (reads[0]?.at ?? 0),
    );
    expect(lost.length).toBeGreaterThan(20);
    expect(lost.filter(found)).toEqual([]);
    // From the first run on, the watermark is the time of the newest loaded event, and it never moves back.
    const marks = reads.map(({ watermark }) => watermark ?? 0);
    const seenAtFirst = happened.filter(({ seenAt }) => seenAt <= (reads[0]?.at ?? 0)).map(({ at }) => at);
    expect(marks[0]).toBe(Math.max(...seenAtFirst));
    expect(marks).toEqual([...marks].sort((left, right) => left - right));

    const range = { from: new Date(from).toISOString(), until: new Date(to).toISOString() };
    const verified = await walk('backfillEvents', { ...range, verify: true });
    expect(verified.added).toBe(happened.length - ids.size);
    expect((await loaded()).size).toBe(happened.length);
  },
);
