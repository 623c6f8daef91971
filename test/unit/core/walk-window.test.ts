import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/core/events/walk-job.js';
import {
  coveredMs,
  halve,
  MIN_SPAN_MS,
  OVERLAP_MS,
  planSync,
  SETTLE_MS,
  type Span,
  splitSpan,
} from '../../../src/core/events/walk-window.js';

const hour = 3_600_000;
const now = Date.UTC(2026, 0, 15);
const bound = fc.integer({ min: now - 400 * 24 * hour, max: now });

/** Expects that the parts cover the window from its beginning to its end without gaps, and that none is shorter than a second. */
function expectWhole(span: Span, parts: readonly Span[]): void {
  expect(parts[0]?.from).toBe(span.from);
  expect(parts.at(-1)?.to).toBe(span.to);
  for (const [index, part] of parts.entries()) {
    if (index > 0) expect(part.from).toBe(parts[index - 1]?.to);
    if (part.from !== null) expect(part.to - part.from).toBeGreaterThanOrEqual(MIN_SPAN_MS - 1);
  }
}

describe('the progress of a window', () => {
  const span = { from: now - hour, to: now };
  it.each([
    ['newest first', [now - 1000, now - hour / 4], hour / 4],
    ['oldest first', [now - hour, now - hour / 4], (3 * hour) / 4],
    ['in nearly that order', [now - 3000, now - hour / 4, now - hour / 5], hour / 4],
    ['newest first with one exception', [now - 3000, now - 2000, now - hour / 4], hour / 4],
    ['outside of it', [now - hour / 4, now - 3 * hour], hour],
  ])('is computed from the times of its latest page: %s', (_, times, covered) => {
    expect(coveredMs(span, times)).toBe(covered);
  });

  it.each([
    ['the page is empty', span, []],
    ['it has one time', span, [now - 5, now - 5]],
    ['its beginning is open', { from: null, to: now }, [now, now - 5]],
  ])('is unknown if %s', (_, of, times) => {
    expect(coveredMs(of, times)).toBeNull();
  });
});

describe('splitting a window', () => {
  it('leaves a window alone that ends with its first page, or that its first page nearly fills', () => {
    const span = { from: now - hour, to: now };
    expect(splitSpan(span, { hasMore: false, times: [now - 5, now] })).toBeNull();
    expect(splitSpan(span, { hasMore: true, times: [] })).toBeNull();
    expect(
      splitSpan(span, { hasMore: true, times: Array.from({ length: 200 }, (_, n) => now - n * 10_000) }),
    ).toBeNull();
    expect(splitSpan({ from: now - 1500, to: now }, { hasMore: true, times: [now, now] })).toBeNull();
  });

  it('splits a large window into parts of about the intended number of records', () => {
    const times = Array.from({ length: 200 }, (_, n) => now - n * 1000);
    const parts = splitSpan({ from: now - 100 * hour, to: now }, { hasMore: true, times }) ?? [];
    // The window has about 360,000 records, and a part should have 8,000.
    expect(parts.length).toBeGreaterThan(40);
    expect(parts.length).toBeLessThanOrEqual(64);
  });

  it('splits a window into few parts if it needs more parts than one split makes, and each of them into many', () => {
    const times = Array.from({ length: 200 }, (_, n) => now - n * 1000);
    const span = { from: now - 300 * hour, to: now };
    const parts = splitSpan(span, { hasMore: true, times }) ?? [];
    // The window has about 1,080,000 records: 135 windows.
    expect(parts).toHaveLength(3);
    const windows = parts.flatMap((part) => splitSpan(part, { hasMore: true, times }) ?? []);
    expectWhole(span, windows);
    expect(windows.length).toBeGreaterThan(100);
    expect(windows.length).toBeLessThan(145);
  });

  it('loses no moment of any window, for any first page, in either order', () => {
    fc.assert(
      fc.property(fc.option(bound), bound, fc.array(bound, { maxLength: 50 }), (from, to, times) => {
        const span = { from: from === null ? null : Math.min(from, to), to: Math.max(from ?? to, to) };
        const parts = splitSpan(span, { hasMore: true, times });
        if (parts) expectWhole(span, parts);
        expect(splitSpan(span, { hasMore: true, times: times.toReversed() })).toEqual(parts);
      }),
    );
  });

  it('goes back in parts that double in length if the beginning is unknown', () => {
    const times = Array.from({ length: 200 }, (_, n) => now - n * 30_000);
    const parts = splitSpan({ from: null, to: now }, { hasMore: true, times }) ?? [];
    expectWhole({ from: null, to: now }, parts);
    const lengths = parts.slice(1).map(({ from, to }) => to - (from as number));
    expect(lengths.slice(0, -1).every((length, index) => length === 2 * (lengths[index + 1] as number))).toBe(true);
  });

  it('makes no part shorter than a second', () => {
    const crowd = { hasMore: true, times: new Array<number>(8).fill(now) };
    expect(splitSpan({ from: now - 2500, to: now }, crowd)).toEqual([
      { from: now - 2500, to: now - 1250 },
      { from: now - 1250, to: now },
    ]);
  });

  it('goes back no further than 1970', () => {
    const crowd = { hasMore: true, times: new Array<number>(8).fill(1) };
    expect(splitSpan({ from: null, to: 6500 }, crowd)).toEqual([
      { from: null, to: 3500 },
      { from: 3500, to: 5500 },
      { from: 5500, to: 6500 },
    ]);
    expect(splitSpan({ from: null, to: 3000 }, crowd)?.[0]).toEqual({ from: null, to: 0 });
  });

  it('halves a window that is long enough, and none without a beginning', () => {
    expect(halve({ from: now - 2000, to: now })).toEqual([
      { from: now - 2000, to: now - 1000 },
      { from: now - 1000, to: now },
    ]);
    expect(halve({ from: now - 1999, to: now })).toBeNull();
    expect(halve({ from: 0, to: 10_000 })).toEqual([
      { from: 0, to: 5000 },
      { from: 5000, to: 10_000 },
    ]);
    expect(halve({ from: 0, to: 1999 })).toBeNull();
    expect(halve({ from: null, to: 10_000 })).toBeNull();
  });
});

describe('the next range of a sync', () => {
  it('is everything at first, then from 15 minutes before the watermark, and two days once a day', () => {
    expect(planSync({ watermark: null, sweptAt: null }, now)).toEqual({ from: null, to: now - SETTLE_MS, sweep: true });
    const watermark = now - hour;
    expect(planSync({ watermark, sweptAt: now - hour }, now)).toEqual({
      from: watermark - OVERLAP_MS,
      to: now - SETTLE_MS,
      sweep: false,
    });
    const swept = { from: now - 48 * hour, to: now - SETTLE_MS, sweep: true };
    expect(planSync({ watermark, sweptAt: now - 24 * hour }, now)).toEqual(swept);
    expect(planSync({ watermark, sweptAt: null }, now)).toEqual(swept);
    const old = now - 100 * hour;
    expect(planSync({ watermark: old, sweptAt: null }, now)?.from).toBe(old - OVERLAP_MS);
  });

  it('begins a quarter of an hour before the watermark and ends a minute before now', () => {
    const marks = { watermark: now - hour, sweptAt: now - hour };
    expect(planSync(marks, now)).toMatchObject({ from: now - hour - 900_000, to: now - 60_000 });
  });

  it('is empty if the clock went back before the whole overlap', () => {
    const marks = (watermark: number) => ({ watermark, sweptAt: now - hour });
    expect(planSync(marks(now + 839_999), now)).toMatchObject({ from: now - 60_001, to: now - 60_000 });
    expect(planSync(marks(now + 840_000), now)).toBeNull();
    expect(planSync(marks(now + hour), now)).toBeNull();
  });

  it('never skips a moment between two runs, for any clocks', () => {
    fc.assert(
      fc.property(bound, fc.option(bound), bound, (watermark, sweptAt, clock) => {
        const plan = planSync({ watermark, sweptAt }, clock);
        if (plan) expect(plan.from).toBeLessThanOrEqual(watermark - OVERLAP_MS);
        else expect(clock - SETTLE_MS).toBeLessThanOrEqual(watermark);
      }),
    );
  });
});

it('has a stream named after its content: the same input, the same marks', () => {
  expect(streamOf({ kind: 'sync' })).toBe('sync');
  expect(streamOf({ kind: 'sync', types: ['b', 'a', 'b'], into: 'x', parallel: 3 })).toBe('sync a,b');
  const dates = { from: '2025-01-01', until: '2025-06-01T00:00:00Z' };
  expect(streamOf({ kind: 'backfill', ...dates })).toBe('backfill 2025-01-01T00:00:00.000Z..2025-06-01T00:00:00.000Z');
  expect(streamOf({ kind: 'backfill', verify: true, until: dates.until })).toBe('verify ..2025-06-01T00:00:00.000Z');
  expect(() => streamOf({ kind: 'backfill', from: 'soon' })).toThrow(RangeError);
});
