import { expect, it } from 'vitest';
import { createWalkActivities } from '../../../src/activities/events/walk.js';
import type { Walk, WalkInput, WalkWindowResult } from '../../../src/core/events/walk-job.js';
import { OVERLAP_MS, SETTLE_MS } from '../../../src/core/events/walk-window.js';
import { createWarehouses } from '../../../src/warehouse/index.js';
import { type EventOptions, startService } from '../../service/service.mjs';
import { ActivitySetting, attempt, quiet } from '../../support/activities/activity-setting.js';
import { closeAfterTest } from '../../support/after-test.js';
import { Folder } from '../../support/jobs/folder.js';

const HOUR = 3_600_000;
const [from, to] = [Date.UTC(2025, 0, 1), Date.UTC(2025, 0, 2)];
const few: EventOptions = { count: 50, from, to, arrivingPerSecond: 0, late: 0 };

/** A service with events, and the activities of a walk on a warehouse. */
async function open(events: EventOptions = few) {
  const [service, setting, folder] = [await startService({ events }), await ActivitySetting.open(), new Folder()];
  const opened = createWarehouses().open(folder.into);
  const { events: warehouse } = opened;
  closeAfterTest(folder, service, setting, opened);
  const deps = setting.worker({ baseUrl: service.url }, service.url);
  const noted: string[] = [];
  const { openWalk, walkWindow, finishWalk } = createWalkActivities({
    ...deps,
    events: { warehouse: async () => warehouse },
    noteWalk: async ({ stream }) => void noted.push(stream),
  });
  const zero = { pages: 0, events: 0, added: 0, changed: 0 };
  return {
    ...{ service, warehouse, noted, origin: deps.origin, zero },
    open: (input: WalkInput) => attempt(openWalk, input),
    walk: (walk: Walk, window: number, splits = false) => attempt(walkWindow, { walk, window, splits }),
    /** Calls `act` when the page of this number is asked for. */
    atPage(number: number, act: () => void) {
      let pages = 0;
      service.meanwhile = (_call, _method, path) => {
        if (path.endsWith('/events') && ++pages === number) act();
      };
    },
    /** Runs an attempt that is cancelled at a page. */
    async cancelledAt(number: number, walk: Walk, window: number): Promise<WalkWindowResult> {
      const environment = quiet();
      this.atPage(number, () => environment.cancel('CANCELLED'));
      return (await environment.run(walkWindow, { walk, window, splits: false })) as WalkWindowResult;
    },
    finish: (walk: Walk, before = zero, stopped: string | null = null) =>
      attempt(finishWalk, { walk, startedAt: Date.now(), before, stopped }),
  };
}

const backfill = { kind: 'backfill', from: new Date(from).toISOString() } as const;
const range = { ...backfill, until: new Date(to + HOUR).toISOString() };

it('a backfill that has read its whole range has nothing more to read, and counts nothing twice', async () => {
  const w = await open();
  const first = await w.open(range);
  expect(first).toMatchObject({
    windows: [1],
    continues: false,
    before: w.zero,
    lengthMs: to + HOUR - from,
    doneMs: 0,
  });
  expect(await w.finish(first.walk)).toEqual({ pending: [1], summary: null });
  expect(await w.walk(first.walk, 1)).toMatchObject({ done: true, pages: 1, events: 50, added: 50, parts: [] });
  // An attempt on a window that is already done changes nothing.
  expect(await w.walk(first.walk, 1)).toMatchObject({ done: true, pages: 0, events: 0 });
  expect((await w.finish(first.walk)).summary).toMatchObject({ phase: 'done', windows: 1, events: 50, added: 50 });
  const calls = w.service.log.length;
  const second = await w.open(range);
  expect(second).toMatchObject({ windows: [], continues: false, before: { events: 50, added: 50 } });
  expect(second.doneMs).toBe(second.lengthMs);
  expect((await w.finish(second.walk, second.before)).summary).toMatchObject({ events: 0, added: 0 });
  expect(w.service.log.length).toBe(calls);
  expect(w.noted).toEqual([first.walk.stream, first.walk.stream]);
});

it('a backfill without an end reads on from its last run, and a little before that', async () => {
  const w = await open();
  const { walk } = await w.open(backfill);
  await w.walk(walk, 1);
  const ended = await w.warehouse.stream(walk);
  expect(Math.abs((ended?.to ?? 0) - (Date.now() - SETTLE_MS))).toBeLessThan(60_000);
  // The stream is set to the state that a run of an hour ago would have left.
  const until = (ended?.to ?? 0) - HOUR;
  await w.warehouse.begin(walk, { from, to: until, types: [], sweep: false });
  const rest = await w.open(backfill);
  expect(rest).toMatchObject({ windows: [2], continues: true, lengthMs: until - from });
  await w.walk(walk, 2);
  const next = await w.open(backfill);
  expect(next).toMatchObject({ windows: [3], continues: false, before: w.zero });
  expect(await w.warehouse.stream(walk)).toMatchObject({ from: until - OVERLAP_MS });
  expect(next.lengthMs).toBeGreaterThan(HOUR);
});

it('a walk that is stopped has a summary of what is loaded, although windows are left', async () => {
  const w = await open();
  const { walk } = await w.open(range);
  const { summary } = await w.finish(walk, w.zero, 'no credits');
  expect(summary).toMatchObject({ phase: 'stopped', message: 'no credits', events: 0, watermark: null });
  expect(await w.open(range)).toMatchObject({ windows: [1], continues: true });
});

it('a window with many events is replaced by parts, and their walks load each event once', async () => {
  const w = await open({ ...few, count: 20_000 });
  const { walk, lengthMs } = await w.open(range);
  const { parts, ...result } = await w.walk(walk, 1, true);
  expect(result).toEqual({ ...w.zero, done: false, lengthMs, partsMs: lengthMs });
  expect(parts.length).toBeGreaterThan(1);
  expect(parts[0]).toBe(2);
  const { pending } = await w.finish(walk);
  expect(pending).toEqual(parts);
  const part = await w.walk(walk, parts.at(-1) as number);
  expect(part).toMatchObject({ done: true, parts: [] });
  expect(part.added).toBe(part.events);
});

it('a window that is walked in two attempts counts each page once', async () => {
  const w = await open({ ...few, count: 500 });
  const { walk } = await w.open(range);
  expect(await w.cancelledAt(2, walk, 1)).toMatchObject({ done: false, pages: 1, events: 200, parts: [] });
  expect(await w.walk(walk, 1)).toMatchObject({ done: true, pages: 2, events: 300, added: 300 });
  expect((await w.finish(walk)).summary).toMatchObject({ pages: 3, events: 500, added: 500 });
});

it('an attempt whose window another one has taken over does not report it as done', async () => {
  const w = await open();
  const { walk } = await w.open(range);
  let claimed: Promise<unknown> | null = null;
  w.atPage(1, () => {
    claimed = w.warehouse.claim(walk, 1, 'another');
  });
  expect(await w.walk(walk, 1)).toMatchObject({ done: false, parts: [] });
  expect(await claimed).toMatchObject({ window: 1 });
  expect(await w.finish(walk)).toMatchObject({ pending: [1] });
});
