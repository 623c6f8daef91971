import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { whyNoTarget } from '../../../src/warehouse/export/why-no-target.js';

const root = mkdtempSync(join(tmpdir(), 'searchflow-targets-'));
const at = (path: string) => join(root, path);
mkdirSync(at('data'));
for (const file of ['data/a.csv', 'data/b.parquet', 'data/c [1].csv']) writeFileSync(at(file), 'id\n1\n');
afterAll(() => rmSync(root, { recursive: true, force: true }));

it.each([
  ['csv', 'data/*.csv', 'data/a.csv', /would be a file of the input/],
  ['csv', 'data/*.csv', 'data/out.csv', /would be a file of the input/],
  ['csv', '**/*.csv', 'data/new/out.csv', /would be a file of the input/],
  ['csv', 'data/*.csv', 'data/deep/out.csv', null],
  ['csv', 'data/*.parquet', 'data/out.csv', null],
  ['csv', 'data/*.csv', 'out.csv', null],
  ['csv', 'data/c [1].csv', 'data/out.csv', null],
  ['parquet', 'data/b.parquet', 'data', /has the input/],
  ['parquet', 'data/*.parquet', 'data', /has the input/],
  ['parquet', 'data/b.parquet', 'lake', null],
] as const)('a %s of the input %s at %s', (kind, input, target, why) => {
  const found = whyNoTarget(kind, at(target), { input: at(input) });
  if (why === null) expect(found).toBeNull();
  else expect(found).toMatch(why);
});

it.each(['csv', 'parquet'] as const)('a %s is not written to an address in the form of libpq', (kind) => {
  const why = whyNoTarget(kind, 'host=db.internal password=canary', {});
  expect(why).toContain('the value (not shown)');
  expect(why).not.toContain('canary');
});
