import { describe, expect, it } from 'vitest';
import { type StrictType, surelyMisfits } from '../../../src/core/rows/on-misfit.js';
import { misfitPause } from '../../../src/core/rows/pause.js';
import { millisOf } from '../../../src/core/text/value-forms.js';

describe('a value of an answer', () => {
  it.each<[StrictType, readonly unknown[]]>([
    ['number', ['much', '3,000', '12 million', '', ' 7 ', '5.', 'inf', 'NaN', '1_000', '0x1f', true, {}, []]],
    ['integer', ['many', 3.7, '3.7', 1e30, '1_000', 'NaN', false, [1]]],
    ['boolean', ['yes', 1, 0, {}]],
    [
      'date',
      [
        'today',
        2024,
        '2024',
        '24-01-01',
        '2024-13-01',
        '2024-00-10',
        '2024-02-30',
        '0000-01-01',
        '294277-01-01',
        'now',
      ],
    ],
    ['time', ['infinity', 1_700_000_000, '10:00', '2026-01-02 99:00', '2024-05-01T24:00:00Z', '2016-12-31T23:59:60Z']],
    ['array', ['[1]', 'x', 1, {}]],
    ['object', ['{}', 1, [], [{}]]],
  ])('that no database reads as %s is a misfit', (type, values) => {
    expect(values.filter((value) => !surelyMisfits(value, type))).toEqual([]);
  });

  it.each<[StrictType, readonly unknown[]]>([
    ['number', [1, -1.5, '1.5', '+7', '1e5', Number('1e400'), '1e400', null, undefined]],
    ['integer', [3, 3.0, '3', '9223372036854775807', 2 ** 63, '1e3', null]],
    ['boolean', [true, false, 'true', 'false', null]],
    ['array', [[], [{}], null]],
    ['object', [{}, { a: [] }, null]],
    ['date', ['2024-02-29', '2024-01-31', '2024-01-31T10:00:00Z', null]],
    ['time', ['2026-01-02T03:04:05+01:00', '2026-01-02 09:00', '2026-01-02T03:04z', null]],
  ])('that a database may read as %s is left to the database', (type, values) => {
    expect(values.filter((value) => surelyMisfits(value, type))).toEqual([]);
  });
});

it('times without a zone are UTC, and an offset has effect', () => {
  const at = Date.UTC(2024, 4, 1, 10);
  for (const text of [
    '2024-05-01T10:00',
    '2024-05-01 10:00:00',
    '2024-05-01T10:00:00.000Z',
    '2024-05-01T15:30:00+0530',
  ])
    expect([text, millisOf(text)]).toEqual([text, at]);
  expect(millisOf('2024-05-01')).toBe(Date.UTC(2024, 4, 1));
  expect(['May 1', '2024', 5, null].map(millisOf)).toEqual([null, null, null, null]);
});

it('the message of a pause is short for a long value, and names no row if none is known', () => {
  const misfit = { column: 'size "x"', value: `${'x'.repeat(100)}\n`, expected: 'integer' };
  const { message } = misfitPause({ row: null, ...misfit }, 'job-1');
  expect(message).toContain(`the value "${'x'.repeat(60)}…" does not fit the column "size \\"x\\"" of type integer`);
  expect(message).toMatch(/^the value/);
  expect(misfitPause({ row: 1200, ...misfit }, null).message).toMatch(/^Row 1,200: the value/);
});
