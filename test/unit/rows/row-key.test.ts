import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { CsvError } from '../../../src/rows/index.js';
import type { RowRecord } from '../../../src/rows/row-reader.js';
import { bindKey } from '../../../src/rows/stage-row.js';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const columns = ['id', 'region', 'url'];
const record = (line: number, ...cells: RowRecord['cells']): RowRecord => ({ line, cells, problem: null });
const bound = (...key: string[]) => bindKey(key, columns, sha256);

it('a row is identified by its key alone', () => {
  const [one, other] = [bound('id'), bound('id')];
  const { id, problem } = one(record(2, '7', 'eu', 'u'), 1);
  expect([id, problem]).toEqual([expect.stringMatching(/^[\da-f]{16}$/), null]);
  expect(other(record(9, '7', 'us', 'v'), 8).id).toBe(id);
  expect(other(record(10, '8', 'us', 'v'), 9).id).not.toBe(id);
  expect(bound('region')(record(2, 'x', '7', 'u'), 1).id).not.toBe(id);
});

it('the columns of a key count one by one', () => {
  const key = bound('id', 'region');
  const ids = [
    ['a', 'b,c'],
    ['a,b', 'c'],
    ['b,c', 'a'],
    [' a', 'b,c'],
  ].map(([id = '', region = ''], index) => key(record(index + 2, id, region, 'u'), index + 1).id);
  expect(new Set(ids).size).toBe(4);
});

it('a key that occurs twice is refused, with the key and both rows', () => {
  const key = bound('id', 'region');
  key(record(2, '7', 'eu', 'u'), 1);
  key(record(3, '7', 'us', 'u'), 2);
  const twice = () => key({ ...record(11, '7', 'eu', 'v'), place: { word: 'row', file: 'b.parquet' } }, 10);
  expect(twice).toThrow(CsvError);
  expect(twice).toThrow(/^b\.parquet, row 11: rows 1 and 10 have the same key, id = "7", region = "eu"\. Name the col/);
});

it('a row without a key, or with cells in wrong columns, has the identity of its cells', () => {
  const key = bound('id');
  const missing = key(record(3, ' ', 'eu', 'u'), 2);
  expect(missing.problem).toEqual({
    tag: 'MISSING_KEY',
    message: 'line 3, column 1 ("id"): the cell of the key is empty',
  });
  expect(key(record(4, null, 'eu', 'u'), 3).problem?.tag).toBe('MISSING_KEY');
  expect(key(record(5, ' ', 'eu', 'u'), 4).id).toBe(missing.id);
  key(record(6, '7', 'eu', 'u'), 5);
  const ragged = key(record(7, '7', 'eu'), 6);
  expect(ragged.problem).toBeNull();
  expect(key(record(8, '7', 'eu'), 7).id).toBe(ragged.id);
});

it('a column that does not exist is refused', () => {
  expect(() => bound('id', 'Region')).toThrow(
    'The key names "Region", which is not a column; the columns are "id", "region", "url". Name other columns as the key (--key), or match rows by their cells (--no-key)',
  );
});
