import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, it } from 'vitest';
import {
  bucketsFor,
  flatProfile,
  type RateProfile,
  rateProfiles,
  wholeUnits,
  withKeyLimit,
} from '../../../src/core/limiter/rate.js';
import { bucketView, newBucket, queuedCalls, recovered, widened } from '../../../src/core/limiter/rate-queue.js';

const namesOf = (profile: RateProfile, rateClass: string) => bucketsFor(profile, rateClass).map(({ name }) => name);
const qpsOf = (profile: RateProfile | undefined, rateClass: string) =>
  profile ? bucketsFor(profile, rateClass).map(({ qps }) => qps) : null;

describe('the rate profiles', () => {
  it.each(['search', 'contents', 'agent', 'unheard-of'])(
    'a flat profile has one limit for all, including %s',
    (rateClass) => {
      expect(qpsOf(flatProfile(7), rateClass)).toEqual([7]);
      expect(qpsOf(rateProfiles.contract, rateClass)).toEqual([10]);
      expect(qpsOf(rateProfiles.boost, rateClass)).toEqual([25]);
    },
  );

  it('have names that contain their numbers, and are found by name', () => {
    expect(flatProfile(7).name).toBe('flat-7');
    expect(withKeyLimit(flatProfile(7), 3).name).toBe('flat-7+key-3');
    for (const [name, profile] of Object.entries(rateProfiles)) expect(profile.name).toBe(name);
  });

  it.each([
    ['search', { search: 10 }],
    ['search.deep', { search: 10, 'search.deep': 5 }],
    ['answer', { search: 10 }],
    ['default', { search: 10 }],
    ['contents', { contents: 100 }],
    ['agent', { agent: 10 }],
    ['websets', { websets: 20 }],
  ])('the public one limits %s as the service’s table does', (rateClass, limits) => {
    const buckets = bucketsFor(rateProfiles.public as RateProfile, rateClass);
    expect(Object.fromEntries(buckets.map(({ name, qps }) => [name, qps]))).toEqual(limits);
  });

  it('treats a class that the service’s table does not name as one of its slowest, never as a free one', () => {
    expect(namesOf(rateProfiles.public as RateProfile, 'unheard-of')).toEqual(['search']);
    expect(namesOf({ name: 'none', buckets: [] }, 'search')).toEqual([]);
  });

  it('limits every call of a key with its own limit by both limits', () => {
    const flat = withKeyLimit(flatProfile(10), 3);
    expect(namesOf(flat, 'search')).toEqual(['all', 'key']);
    const table = withKeyLimit(rateProfiles.public as RateProfile, 3);
    expect(namesOf(table, 'contents')).toEqual(['contents', 'key']);
    expect(namesOf(table, 'unheard-of')).toEqual(['search', 'key']);
    expect(table.buckets.at(-1)).toMatchObject({ of: 'key', qps: 3 });
  });

  it.each([
    [10, 10],
    [2.9, 2],
    [1, 1],
    [0.2, 1],
  ])('%d units a second are %d whole ones, one at least', (qps, limit) => {
    expect(wholeUnits({ name: 'any', qps, classes: ['*'] })).toBe(limit);
  });
});

describe('backpressure of a service that queues calls', () => {
  it('adds a hundredth of a second for each queued answer, a quarter at most', () => {
    expect(widened(queuedCalls, 0, 0, 1000, 3)).toBeCloseTo(0.03);
    expect(widened(queuedCalls, 0.03, 1000, 1000, 1000)).toBeCloseTo(0.24);
  });

  it('ends half a minute after the last queued answer, and is halved after half of that', () => {
    const left = (now: number) => recovered(queuedCalls, 0.24, 1000, now);
    expect(left(1000)).toBeCloseTo(0.24);
    expect(left(16_000)).toBeCloseTo(0.12);
    expect(left(31_000)).toBe(0);
    expect(left(99_000)).toBe(0);
  });

  it('adds a new queued answer to the remaining value', () => {
    expect(widened(queuedCalls, 0.24, 0, 15_000, 1)).toBeCloseTo(0.13);
  });

  it('does not grow if the clock goes back', () => {
    expect(recovered(queuedCalls, 0.1, 5000, 1000)).toBeCloseTo(0.1);
  });
});

describe('the view of a bucket', () => {
  const bucket = { name: 'all', qps: 4, classes: ['*'] };

  it('counts the units that started within the last second, not the later ones', () => {
    const state = { ...newBucket(4, 0), ring: [1000, 1001, 2000, 2001] };
    expect(bucketView(bucket, state, 2000)).toMatchObject({ name: 'all', qps: 4, used: 2 });
    expect(bucketView(bucket, state, 2001).used).toBe(2);
    expect(bucketView(bucket, state, 9000).used).toBe(0);
  });

  it('shows the rate that is left by its margin and backpressure', () => {
    const state = { ...newBucket(4, 0), margin: 0.05, backpressure: 0.2, backpressureAt: 0 };
    expect(bucketView(bucket, state, 0).effectiveQps).toBeCloseTo(4 / 1.25);
    expect(bucketView(bucket, state, 60_000).effectiveQps).toBeCloseTo(4 / 1.05);
    expect(bucketView({ ...bucket, qps: 4.8 }, newBucket(4, 0), 0).effectiveQps).toBe(4);
  });
});

property.prop([fc.integer({ min: 1, max: 50 }), fc.double({ min: 0.1, max: 100, noNaN: true })])(
  'no profile leaves a class without a limit',
  (key, qps) => {
    for (const profile of [flatProfile(qps), ...Object.values(rateProfiles)]) {
      const named = bucketsFor(withKeyLimit(profile, key), 'whatever');
      expect(named.filter(({ of }) => of !== 'key')).toHaveLength(1);
      expect(named.filter(({ of }) => of === 'key')).toHaveLength(1);
    }
  },
);
