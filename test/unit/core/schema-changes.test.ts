import { expect, it } from 'vitest';
import type { SchemaChange } from '../../../src/core/row-job-schemas.js';
import { schemaChanges, schemaChangesText } from '../../../src/core/rows/schema-changes.js';

const input = (name: string) => ({ of: 'input' as const, name });
const output = (name: string, type: string) => ({ of: 'output' as const, name, type });

it('columns of the input and of the answers are compared apart, in any order', () => {
  const before = [input('a'), input('b'), output('a', 'integer'), output('same', 'json')];
  expect(schemaChanges(before, [output('same', 'json'), input('b'), input('a'), output('a', 'integer')])).toEqual([]);
  expect(schemaChanges(before, [input('b'), output('a', 'text'), output('same', 'json'), output('b', 'date')])).toEqual(
    [
      { of: 'output', name: 'a', change: 'type', from: 'integer', to: 'text' },
      { of: 'output', name: 'b', change: 'added' },
      { of: 'input', name: 'a', change: 'removed' },
    ],
  );
  expect(schemaChanges([input('a')], [{ ...input('a'), type: 'integer' }])).toEqual([
    { of: 'input', name: 'a', change: 'type', from: 'text', to: 'integer' },
  ]);
});

it('the text lists at most ten changes', () => {
  const added = (name: string): SchemaChange => ({ of: 'input', name, change: 'added' });
  expect(
    schemaChangesText([added('x "y"'), { of: 'output', name: 's', change: 'type', from: 'date', to: 'text' }]),
  ).toBe('input column "x \\"y\\"" added, output column "s": text instead of date');
  const many = Array.from({ length: 12 }, (_, index) => added(`c${index}`));
  expect(schemaChangesText(many)).toMatch(/input column "c9" added, 2 more$/);
});
