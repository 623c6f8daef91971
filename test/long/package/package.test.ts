import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { expect, it } from 'vitest';
import { ofFile } from '../../support/of-file.js';
import { packPackage } from '../../support/package/packed.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as Record<'exports' | 'scripts', object>;
const entries = Object.keys(manifest.exports)
  .filter((path) => !path.endsWith('.json'))
  .map((path) => `searchflow${path.slice(1)}`);

const packed = ofFile(packPackage);

it('the package contains all files that run and a reader needs, and no development files', () => {
  for (const file of [
    'LICENSE',
    'README.md',
    'examples/brands.csv',
    'CHANGELOG.md',
    'dist/bin/searchflow.js',
    'dist/worker/workflow-bundle.js',
    ...['duckdb-node-api', 'undici-lib-web-fetch', 'zod'].map((name) => `dist/bin/LICENSE.${name}`),
    ...['enrich', 'workflow-inputs', 'workflow-results', 'activities'].map((name) => `dist/schemas/${name}.json`),
  ]) {
    expect(packed.files).toContain(file);
  }
  const own = /^(dist\/|skills\/|(examples\/(brands\.csv|README\.md)|LICENSE|(README|CHANGELOG)\.md|package\.json)$)/;
  expect(packed.files.filter((file) => !own.test(file))).toEqual([]);
  expect(packed.files.filter((file) => /(^|\/)\.|\.test\.|tsbuildinfo/.test(file))).toEqual([]);
  expect(manifest.scripts).toMatchObject({ prepack: 'node scripts/set-up.mjs' });
});

it('the bundle of the workflows has a source map without sources and paths of the machine that built it', () => {
  const bundle = readFileSync(`${packed.project}/node_modules/searchflow/dist/worker/workflow-bundle.js`, 'utf8');
  const map = JSON.parse(Buffer.from(bundle.split(';base64,').at(-1) as string, 'base64').toString());
  expect(bundle).not.toContain(root);
  expect(map.sourcesContent).toBeUndefined();
  expect(map.sources).toContain('src/workflows/rows/row-job.ts');
  expect(map.sources.filter((path: string) => path.startsWith('/') || path.includes(root))).toEqual([]);
});

it('the package passes publint', async () => {
  const bytes = readFileSync(packed.tarball);
  const tarball = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  const { messages, pkg } = await publint({ pack: { tarball }, strict: true });
  expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
});

it('the package has types that are right for importers and for CommonJS on a Node that can require them', () => {
  // The rule that is left out warns that require() meets an ES module. Every supported version of Node can require one.
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      `${root}node_modules/@arethetypeswrong/cli/dist/index.js`,
      ...[packed.tarball, '--profile', 'node16', '--ignore-rules', 'cjs-resolves-to-esm', '--format', 'ascii'],
    ],
    { encoding: 'utf8' },
  );
  expect(status, stdout).toBe(0);
});

it('the package can be imported and required from every entry, with the same names', () => {
  const list = (load: string) => `${load}.then((names) => process.stdout.write(JSON.stringify(names)))`;
  const imported = list(
    `Promise.all(${JSON.stringify(entries)}.map(async (e) => [e, Object.keys(await import(e)).sort()]))`,
  );
  const required = list(`Promise.all(${JSON.stringify(entries)}.map((e) => [e, Object.keys(require(e)).sort()]))`);
  const run = (code: string, type: string) =>
    JSON.parse(
      execFileSync(process.execPath, [`--input-type=${type}`, '--disable-warning=ExperimentalWarning', '-e', code], {
        cwd: packed.project,
        encoding: 'utf8',
      }),
    ) as [string, string[]][];
  const names = run(imported, 'module');
  // This entry has types alone.
  expect(names.filter(([, found]) => found.length === 0).map(([entry]) => entry)).toEqual(['searchflow/activities']);
  expect(
    run(required, 'commonjs').map(([entry, found]) => [entry, found.filter((name) => name !== '__esModule')]),
  ).toEqual(names);
});

it('the package runs as a command of its name', () => {
  const version = (JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { version: string }).version;
  const main = `${packed.project}/node_modules/searchflow/dist/bin/searchflow.js`;
  expect(readFileSync(main, 'utf8').startsWith('#!/usr/bin/env node\n')).toBe(true);
  expect(execFileSync(process.execPath, [main, '--version'], { encoding: 'utf8' }).trim()).toBe(version);
});
