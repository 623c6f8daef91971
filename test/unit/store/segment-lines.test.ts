import { describe, expect, it } from 'vitest';
import { SegmentStore } from '../../../src/store/file/segment-store.js';
import type { SpendSums } from '../../../src/store/file/spend.js';
import { decodeLine, encodeLine, legibleLines, type SegmentLine } from '../../../src/store/file/unit-record.js';

const intent = {
  t: 'intent',
  id: 'i1',
  at: 5,
  owner: 'me',
  op: 'contents',
  keys: ['k'],
  est: 1000,
  list: 1000,
  tier: '',
  team: 'team',
  deadline: 9,
} as const;
const miss = { t: 'miss', id: 'i1', at: 7, why: 'the answer was lost', charged: 'maybe' } as const;
const text = (line: object) => encodeLine(line as unknown as SegmentLine).slice(0, -1);
/** The text of a line whose checksum has one wrong digit. */
const damaged = (line: object) => `${text(line)[0] === '0' ? '1' : '0'}${text(line).slice(1)}`;

describe('a line of a segment', () => {
  it('is read back as it was written', () => {
    expect(decodeLine(text(intent))).toEqual(intent);
  });

  it.each([
    ['torn', text(intent).slice(0, -1)],
    ['empty', ''],
    ['only a checksum', text(intent).slice(0, 9)],
    ['damaged', damaged(intent)],
    ['without the space after its checksum', text(intent).replace(' ', '_')],
  ])('that is %s is rejected', (_, line) => {
    expect(decodeLine(line)).toBeNull();
  });
});

describe('damaged text', () => {
  it('returns the whole lines whose line feed was damaged', () => {
    expect(legibleLines(`${text(intent)}?${text(miss)}`)).toEqual([intent, miss]);
    expect(legibleLines(`${text(intent)}${text(miss)}`)).toEqual([intent, miss]);
    expect(legibleLines(`torn"}${text(miss)}`)).toEqual([miss]);
  });

  it.each([intent, miss])('returns an intent or a miss that is complete except for its checksum: %j', (line) => {
    expect(legibleLines(damaged(line))).toEqual([line]);
  });

  it.each([
    { ...intent, id: 1 },
    { ...intent, owner: null },
    { ...intent, op: 2 },
    { ...intent, keys: 'k' },
    { ...intent, keys: [1] },
    { ...intent, at: null },
    { ...intent, est: 'x' },
    { ...intent, deadline: null },
    { ...miss, id: 1 },
    { ...miss, at: null },
    { ...miss, why: 1 },
    { ...miss, charged: 'perhaps' },
    { t: 'land', id: 'i1', at: 7 },
    { id: 'i1' },
  ])('returns nothing uncertain: %j', (line) => {
    expect(legibleLines(damaged(line))).toEqual([]);
  });

  it.each(['', 'null', '00000000 null', '00000000 {"t":"intent"', '00000000 5'])('returns nothing from %j', (line) => {
    expect(legibleLines(line)).toEqual([]);
  });
});

it('the name of a segment cannot refer to a file outside the journal', () => {
  const segments = new SegmentStore('/journal', null as unknown as SpendSums, () => undefined);
  expect(segments.lineFile('rows-1a2b3c/0123456789ab/000001')).toBe('/journal/rows-1a2b3c/0123456789ab/000001.journal');
  for (const name of ['../x', 'a/../../x', '/x', 'a//x', '', '.', 'a/.x', 'a\0', 'a\\x', 'x'.repeat(300)])
    expect(() => segments.lineFile(name)).toThrow('is not a valid name of a journal segment');
});
