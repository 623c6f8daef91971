import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { DigestMap } from '../../../src/core/purchase/digest-map.js';

const digest = (of: number) => hash('sha256', String(of), 'hex').slice(0, 32);

describe('DigestMap', () => {
  it('agrees with a Map through growth, replacement and misses', () => {
    const map = new DigestMap(4);
    const reference = new Map<string, number>();
    // One check for all keys: thousands of them cost seconds.
    const wrong: string[] = [];
    for (let index = 0; index < 50_000; index++) {
      const key = digest(index % 30_000);
      if (map.set(key, index) === reference.has(key)) wrong.push(`set ${index}`);
      reference.set(key, index);
    }
    for (const [key, value] of reference) if (map.get(key) !== value) wrong.push(`get ${key}`);
    for (let index = 30_000; index < 31_000; index++)
      if (map.get(digest(index)) !== undefined) wrong.push(`miss ${index}`);
    expect([wrong, map.size]).toEqual([[], reference.size]);
  });

  it('treats hex digits and bytes of one digest as the same key', () => {
    const map = new DigestMap();
    map.set(digest(1), 7);
    expect(map.get(Buffer.from(digest(1), 'hex'))).toBe(7);
    expect(map.get(digest(1).toUpperCase())).toBe(7);
    expect(map.has(Buffer.from(digest(2), 'hex'))).toBe(false);
  });

  it('keeps the all-zero digest, zero and the largest value apart from a free slot', () => {
    const map = new DigestMap();
    const zero = '0'.repeat(32);
    expect(map.get(zero)).toBeUndefined();
    map.set(zero, 0);
    expect(map.get(zero)).toBe(0);
    map.set(zero, 0xfffffffe);
    expect(map.get(zero)).toBe(0xfffffffe);
  });

  it('keeps keys apart that start in the same slot and wraps around its end', () => {
    const map = new DigestMap(8);
    const keys = Array.from({ length: 8 }, (_, index) => `ffffffff0000000${index}`);
    for (const [index, key] of keys.entries()) map.set(key, index);
    expect(keys.map((key) => map.get(key))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('refuses invalid digests and values', () => {
    const map = new DigestMap();
    for (const key of ['', 'abc', 'z'.repeat(32), new Uint8Array(4)]) expect(() => map.get(key)).toThrow(RangeError);
    for (const value of [-1, 0.5, 2 ** 32, Number.NaN]) expect(() => map.set(digest(1), value)).toThrow(RangeError);
    expect(map.size).toBe(0);
  });

  it('uses at most 35 bytes an entry', () => {
    const map = new DigestMap();
    for (let index = 0; index < 100_000; index++) map.set(digest(index), index);
    expect(map.bytes / map.size).toBeLessThan(35);
  });
});
