import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { brokenRules } from '../../../scripts/check-imports.mjs';
import { folderOfFile } from '../../support/files/folders.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const value = (name: string, from: string) =>
  `import { ${name} } from '${from}';\nexport const used: unknown = ${name};`;
const type = (name: string, from: string) => `import type { ${name} } from '${from}';\nexport type Used = ${name};`;

/** Planted files. Each has a path, a content, and the rules that it breaks in `src` and in `dist`; null means none. */
const planted: readonly (readonly [file: string, text: string, inSrc: string | null, inDist: string | null])[] = [
  ['src/core/reads-a-file.ts', value('readFileSync', 'node:fs'), 'core: node', 'core: node'],
  ['src/core/uses-zod.ts', value('z', 'zod'), null, 'core: zod in its schemas only'],
  ['src/core/uses-api.ts', value('thing', '../api/thing.js'), 'core: imports of ours', 'core: values of ours'],
  ['src/core/types-of-api.ts', type('Thing', '../api/thing.js'), 'core: imports of ours', null],
  ['src/api/thing.ts', `export const thing = 1;\nexport type Thing = 1;`, null, null],
  ['src/api/knows-temporal.ts', type('Duration', '@temporalio/common'), 'api: temporal', null],
  ['src/store/thing.ts', `export const thing = 1;\nexport type Thing = 1;`, null, null],
  [
    'src/store/calls-api.ts',
    `export { thing } from '../api/thing.js';`,
    'store: imports of ours',
    'store: values of ours',
  ],
  [
    'src/warehouse/thing.ts',
    `import * as duckdb from '@duckdb/node-api';\nexport const a: unknown = duckdb;`,
    null,
    'drivers: on first use',
  ],
  ['src/warehouse/lazy.ts', `export const a = (): Promise<unknown> => import('@duckdb/node-api');`, null, null],
  [
    'src/activities/thing.ts',
    `import type { Thing } from '../store/thing.js';\nexport type A = Thing;\nexport const thing = 1;`,
    null,
    null,
  ],
  ['src/activities/opens-store.ts', value('thing', '../store/thing.js'), null, 'activities: values of ours'],
  [
    'src/activities/lazily-opens-store.ts',
    `export const a = () => import('../store/thing.js');`,
    null,
    'activities: values of ours',
  ],
  ['src/workflows/thing.ts', type('Thing', '../api/thing.js'), null, null],
  ['src/workflows/calls-activity.ts', value('thing', '../activities/thing.js'), null, 'workflows: values of ours'],
  ['src/worker/thing.ts', value('thing', '../cli/thing.js'), 'worker: imports of ours', 'worker: values of ours'],
  [
    'src/cli/thing.ts',
    `import type { A } from '../activities/thing.js';\nexport type B = A;\nexport const thing = 1;`,
    null,
    null,
  ],
  ['src/cli/opens-warehouse.ts', value('a', '../warehouse/lazy.js'), null, 'cli: values of ours'],
  [
    'src/sandbox/opens-store.ts',
    value('thing', '../store/thing.js'),
    'sandbox: imports of ours',
    'sandbox: values of ours',
  ],
  [
    'src/sandbox/names-a-type-inline.ts',
    `export type A = import('../store/thing.js').Thing;`,
    'types: import them at the top',
    null,
  ],
  [
    'src/sandbox/names-a-module-inline.ts',
    `export type A = typeof import('../store/thing.js');`,
    'types: import them at the top',
    null,
  ],
  ['src/rows/one.ts', `import type { Two } from './two.js';\nexport type One = Two | 1;`, 'circular', null],
  ['src/rows/two.ts', `import type { One } from './one.js';\nexport type Two = readonly One[];`, null, null],
  ['src/files/a/first.ts', type('Second', '../b/second.js'), null, null],
  ['src/files/a/last.ts', 'export type Last = 1;', null, null],
  ['src/files/b/second.ts', 'export type Second = 1;', null, null],
  ['src/files/b/third.ts', type('Last', '../a/last.js'), null, null],
  ['src/rows/c/one/first.ts', type('Second', '../../d/second.js'), null, null],
  ['src/rows/c/two/last.ts', 'export type Last = 1;', null, null],
  ['src/rows/d/second.ts', 'export type Second = 1;', null, null],
  ['src/rows/d/third.ts', type('Last', '../c/two/last.js'), null, null],
  ['src/index.ts', value('thing', './store/thing.js'), null, 'index: values of ours'],
  ['examples/reaches-in.ts', value('thing', '../src/api/thing.js'), 'examples: the package name only', null],
];

describe('the rules, in a project with planted violations,', () => {
  const project = folderOfFile();
  let inSrc: string[];
  let inDist: string[];
  let folders: string[];

  beforeAll(async () => {
    for (const [file, text] of planted) {
      mkdirSync(dirname(join(project, file)), { recursive: true });
      writeFileSync(join(project, file), `${text}\n`);
    }
    for (const file of ['package.json', 'tsconfig.json']) cpSync(join(root, file), join(project, file));
    symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'), 'dir');
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project], {
      stdio: ['ignore', 2, 2],
    });
    const all = await brokenRules(project, ['src', 'examples'], 'all');
    folders = all.filter((line: string) => line.startsWith('circular folders'));
    inSrc = all.filter((line: string) => !folders.includes(line));
    inDist = await brokenRules(project, ['dist'], 'values');
  });

  it('report no other file', () => {
    const count = (column: 2 | 3) => planted.filter((row) => row[column] !== null).length;
    expect([inSrc.length, inDist.length]).toEqual([count(2), count(3)]);
  });

  it('report folders that import each other, with the folders in them', () => {
    const within = folders.filter((line) => /src\/(files|rows)\//.test(line));
    expect(within.sort()).toEqual([
      'circular folders | src/files/a -> src/files/b',
      'circular folders | src/files/b -> src/files/a',
      'circular folders | src/rows/c -> src/rows/d',
      'circular folders | src/rows/d -> src/rows/c',
    ]);
  });

  it.each(planted)('classify %s correctly', (file, _text, wantedInSrc, wantedInDist) => {
    const rulesOf = (found: readonly string[], from: string) =>
      found
        .map((line) => line.split(' | ') as [string, string])
        .filter(([, path]) => path.startsWith(`${from} `))
        .map(([rule]) => rule);
    expect(rulesOf(inSrc, file)).toEqual(wantedInSrc === null ? [] : [wantedInSrc]);
    expect(rulesOf(inDist, file.replace('src/', 'dist/').replace('.ts', '.js'))).toEqual(
      wantedInDist === null ? [] : [wantedInDist],
    );
  });
});
