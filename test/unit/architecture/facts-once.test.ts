import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseSync, type Span, Visitor } from 'oxc-parser';
import { expect, it } from 'vitest';
import { rowOperations } from '../../../src/core/rows/row-operation.js';

const src = fileURLToPath(new URL('../../../src/', import.meta.url));
/** The tables of what differs between operations of rows. */
const tables = ['core/rows/row-operation.ts', 'activities/rows/row-requests.ts', 'warehouse/rows/job-columns.ts'];
/** An operation in the source: its name as a text, or a constant. */
const operation = new RegExp(`^('(${rowOperations.join('|')})'|AGENT|DEFAULT_OPERATION)$`);
/** Values for which `answer` or `contents` is another word. */
const others = /\b(t|phase|by)$/;
/** A parameter for texts that its function fills; a constant of the same name is another array. */
const bin = /[(,]\s*(\w+): string\[\](?=[,)])(?:(?!const \1\b).)*?\b\1\.push\(/s;

const found = { branches: [] as string[], guards: [] as string[], bins: [] as string[] };
for (const file of readdirSync(src, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'))) {
  if (!file.endsWith('.ts') || file.startsWith('sandbox/')) continue;
  const source = readFileSync(src + file, 'utf8');
  const textOf = ({ start, end }: Span) => source.slice(start, end);
  const add = (kind: keyof typeof found, node: Span) => found[kind].push(`${file}: ${textOf(node)}`);
  const branch = (at: Span, of: Span, value: Span) => {
    if (operation.test(textOf(value)) && !others.test(textOf(of))) add('branches', at);
  };
  new Visitor({
    BinaryExpression(node) {
      if (!/^[!=]=/.test(node.operator)) return;
      branch(node, node.left, node.right);
      branch(node, node.right, node.left);
    },
    SwitchStatement({ discriminant, cases }) {
      for (const { test } of cases) if (test) branch(test, discriminant, test);
    },
    ObjectExpression({ properties, ...node }) {
      const named = properties.filter((one) => one.type === 'Property' && operation.test(`'${textOf(one.key)}'`));
      if (named.length === rowOperations.length && !tables.includes(file)) add('branches', node);
      for (const one of properties)
        if (one.type === 'SpreadElement' && /^\(.* (\?|&&) /s.test(textOf(one.argument))) add('guards', one);
    },
  }).visit(parseSync(file, source).program);
  if (bin.test(source)) found.bins.push(file);
}

it('what differs between operations of rows stands in their tables', () => {
  expect(found.branches).toEqual([]);
});

it('absent fields need no guard, and problems are returned', () => {
  expect(found.guards.length, found.guards.join('\n')).toBeLessThanOrEqual(20);
  expect(found.bins).toEqual([]);
});
