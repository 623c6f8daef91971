import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const entries = [
  ...[
    'index',
    'limiter',
    'webhook',
    'workflows/index',
    'activities/types',
    'workflows/operations',
    'worker/index',
    'sandbox/index',
  ].map((entry) => `src/${entry}`),
  'test/suites/index',
  'test/suites/mock-workflows',
];

/** Every name that an entry file exports; types are marked. Fails on `export *`, because each public name must be written out. */
function publicNames(entry: string): string[] {
  const source = readFileSync(`${root}${entry}.ts`, 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
  expect(source, `${entry}.ts`).not.toMatch(/export\s*\*/);
  const listed = [...source.matchAll(/export\s+(type\s+)?\{([^}]*)\}/g)].flatMap(([, type, names = '']) =>
    names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
      .map((name) => `${type ?? ''}${name.replace(/^(type\s+)?.*\sas\s+/, '$1')}`),
  );
  const declared = [
    ...source.matchAll(/export\s+(?:async\s+|abstract\s+)?(function|class|const|type|interface)\s+(\w+)/g),
  ];
  return [
    ...listed,
    ...declared.map(([, kind, name]) => (/type|interface/.test(kind as string) ? `type ${name}` : `${name}`)),
  ].sort();
}

it.each(entries)('%s.ts exports exactly the listed names', async (entry) => {
  const names = publicNames(entry);
  expect(names.length).toBeGreaterThan(0);
  await expect(`${names.join('\n')}\n`).toMatchFileSnapshot(
    `public-names/${entry.replace(/^src\//, '').replaceAll('/', '-')}.txt`,
  );
});
