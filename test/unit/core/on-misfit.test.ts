import { describe, expect, it } from 'vitest';
import { type StrictType, surelyMisfits } from '../../../src/core/rows/on-misfit.js';
import { misfitPause } from '../../../src/core/rows/pause.js';

describe('a value of an answer', () => {
  it.each<[StrictType, readonly unknown[]]>([
    ['number', ['much', '3,000', '12 million', '', true, {}, []]],
    ['integer', ['many', 3.7, '3.7', 1e30, false, [1]]],
    ['boolean', ['yes', 1, 0, {}]],
    ['date', ['today', 2024, '2024', '24-01-01', '2024-13-01', '2024-00-10', '2024-01-32']],
    ['time', ['infinity', 1_700_000_000, '10:00']],
  ])('that no database reads as %s is a misfit', (type, values) => {
    expect(values.filter((value) => !surelyMisfits(value, type))).toEqual([]);
  });

  it.each<[StrictType, readonly unknown[]]>([
    ['number', [1, -1.5, '1.5', ' 7 ', '1e5', 'inf', 'NaN', '1_000', '0x1f', null, undefined]],
    ['integer', [3, 3.0, '3', '9223372036854775807', 2 ** 63, '1_000', null]],
    ['boolean', [true, false, 'true', 'false', null]],
    ['date', ['2024-02-30', '2024-01-31', '2024-01-31T10:00:00Z', null]],
    ['time', ['2026-01-02T03:04:05+01:00', '2026-01-02 99:00', null]],
  ])('that a database may read as %s is left to the database', (type, values) => {
    expect(values.filter((value) => surelyMisfits(value, type))).toEqual([]);
  });
});

it('the message of a pause is short for a long value, and names no row if none is known', () => {
  const misfit = { column: 'size "x"', value: `${'x'.repeat(100)}\n`, expected: 'integer' };
  const { message } = misfitPause({ row: null, ...misfit }, 'job-1');
  expect(message).toContain(`the value "${'x'.repeat(60)}…" does not fit the column "size \\"x\\"" of type integer`);
  expect(message).toMatch(/^the value/);
  expect(misfitPause({ row: 1200, ...misfit }, null).message).toMatch(/^Row 1,200: the value/);
});
