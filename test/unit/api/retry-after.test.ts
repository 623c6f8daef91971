import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseHttpDate, parseRetryAfter } from '../../../src/api/wire/parse-retry-after.js';

const now = Date.UTC(2026, 10, 21, 12, 0, 0);

describe('fault 1: Retry-After', () => {
  test.each<[string | null, number | null]>([
    ['3', 3000],
    ['0', 0],
    ['00010', 10_000],
    [' 7 ', 7000],
    ['172800', 172_800_000],
    ['31622400', 366 * 86_400_000],
    ['31622401', null],
    ['1000000000', null],
    ['1795867200', null],
    ['1795867200000', null],
    ['2147483648', null],
    ['2147483649', null],
    ['99999999999999999999', null],
    ['9'.repeat(400), null],
    ['00000000000000000005', 5000],
    ['+5', null],
    ['-0', null],
    ['\u0665', null],
    ['5;', null],
    ['0, 0', null],
    ['99999999999', null],
    ['Sat, 21 Nov 2026 12:00:05 GMT', 5000],
    ['Saturday, 21-Nov-26 12:01:00 GMT', 60_000],
    ['Sat Nov 21 12:00:02 2026', 2000],
    ['Sat Dec  5 12:00:00 2026', 14 * 86_400_000],
    ['Sat, 21 Nov 2026 11:59:59 GMT', 0],
    ['Fri, 20 Nov 2026 12:00:00 GMT', 0],
    ['Fri, 20 Nov 2026 11:59:59 GMT', null],
    ['Thu, 01 Jan 1970 00:00:00 GMT', null],
    ['Sun, 06 Nov 1994 08:49:37 GMT', null],
    ['Sunday, 06-Nov-94 08:49:37 GMT', null],
    ['Sun Nov  6 08:49:37 1994', null],
    ['Sun, 21 Nov 2027 12:00:00 GMT', Date.UTC(2027, 10, 21, 12) - now],
    ['Sat, 21 Nov 2054 12:00:00 GMT', null],
    ['Fri, 31 Dec 9999 23:59:59 GMT', null],
    ['Mon, 01 Jan 12026 00:00:00 GMT', null],
    ['Sat, 21 Nov 2026 12:00:60 GMT', 60_000],
    [null, null],
    ['', null],
    ['soon', null],
    ['-5', null],
    ['3.5', null],
    ['1e3', null],
    ['3s', null],
    ['0x10', null],
    ['3, 5', null],
    ['Infinity', null],
    ['2026-11-21T12:00:05Z', null],
    ['Sat, 21 Nov 2026 12:00:05 UTC', null],
    ['Sat, 21 Nov 2026 12:00:05', null],
    ['Sat, 1 Nov 2026 12:00:05 GMT', null],
    ['Sat, 31 Feb 2027 12:00:05 GMT', null],
    ['Sat, 00 Nov 2026 12:00:05 GMT', null],
    ['Sat, 21 Nov 2026 24:00:00 GMT', null],
    ['Sat, 21 nov 2026 12:00:05 GMT', null],
    ['Sat, 21 Nov 26 12:00:05 GMT', null],
  ])('reads %j as %j ms', (value, expected) => {
    expect(parseRetryAfter(value, now)).toBe(expected);
  });

  test('reads a two-digit year that seems more than 50 years ahead as a past one', () => {
    expect(parseHttpDate('Monday, 21-Nov-76 12:00:00 GMT', now)).toBe(Date.UTC(2076, 10, 21, 12));
    expect(parseHttpDate('Monday, 21-Nov-77 12:00:00 GMT', now)).toBe(Date.UTC(1977, 10, 21, 12));
  });

  test('reads every date that Date writes back to the second', () => {
    const second = fc.integer({ min: 0, max: 253_402_300_799 });
    fc.assert(
      fc.property(second, (seconds) => {
        const date = new Date(seconds * 1000);
        expect(parseHttpDate(date.toUTCString(), now)).toBe(seconds * 1000);
        expect(parseRetryAfter(date.toUTCString(), seconds * 1000 - 5000)).toBe(5000);
      }),
    );
  });

  test('returns null or a finite wait of zero or more for any text', () => {
    const word = fc.constantFrom('Sat', ', ', '21', ' ', 'Nov', '2026', '-', ':', 'GMT', '9', '0', '12:00:05', 'é');
    const texts = fc.oneof(
      fc.string(),
      fc.array(word).map((words) => words.join('')),
    );
    fc.assert(
      fc.property(texts, fc.integer({ min: 0, max: 4e12 }), (text, at) => {
        const wait = parseRetryAfter(text, at);
        expect(wait === null || (Number.isFinite(wait) && wait >= 0)).toBe(true);
      }),
    );
  });
});
