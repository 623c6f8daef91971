import { expect, it } from 'vitest';
import { isOrdered } from '../../../src/sources/postgres-reader.js';

it.each([
  ['SELECT * FROM brands ORDER BY id', true],
  ['select * from brands\norder\n by id desc limit 10;', true],
  ['SELECT * FROM (SELECT * FROM brands ORDER BY id) b', false],
  ['SELECT row_number() OVER (ORDER BY id), url FROM brands', false],
  ['WITH b AS (SELECT * FROM brands ORDER BY id) SELECT * FROM b ORDER BY url', true],
  ["SELECT ' ORDER BY ' FROM brands -- ORDER BY id", false],
  ["SELECT '(' AS x FROM brands ORDER BY id", true],
  ['SELECT "order by" FROM brands /* ORDER BY id */', false],
  ['SELECT $a$ ) ORDER BY $a$ FROM brands', false],
  ['SELECT reorder, bylaw FROM brands', false],
])('%s', (sql, ordered) => {
  expect(isOrdered(sql)).toBe(ordered);
});
