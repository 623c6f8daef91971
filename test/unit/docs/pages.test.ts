import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { benchmarksDoc, savedResults } from '../../../scripts/benchmarks-doc.mjs';
import { commandsDoc } from '../../../scripts/commands-doc.mjs';
import { dbtSources } from '../../../scripts/dbt-sources.mjs';
import { drawings } from '../../../scripts/drawings.mjs';
import { errorsDoc, withTags } from '../../../scripts/errors-doc.mjs';
import { limitsDoc } from '../../../scripts/limits-doc.mjs';
import * as outputs from '../../../src/api/command-outputs.js';
import { buildProgram } from '../../../src/cli/program.js';
import { errorGroups } from '../../../src/core/errors/registry.js';
import { failureTags } from '../../../src/core/purchase/failure-tags.js';
import { duckDbDialect } from '../../../src/warehouse/duckdb/dialect.js';
import { rowTables, rowViews } from '../../../src/warehouse/rows/row-tables.js';
import { blocksOf, documents, pages } from '../../support/docs/blocks.js';

const docs = fileURLToPath(new URL('../../../docs/', import.meta.url));
const load = (path: string) => import(/* @vite-ignore */ new URL(`../../../src/${path}.ts`, import.meta.url).href);
const read = (path: string): string => readFileSync(join(docs, path), 'utf8');

describe('a page that is made (else: npm run generate)', () => {
  it('docs/reference/commands.md equals the command line', () => {
    const program = buildProgram('0', () => {});
    expect(read('reference/commands.md')).toBe(commandsDoc(program, outputs));
  });

  it('docs/errors.md equals the registry of errors', () => {
    expect(read('errors.md')).toBe(errorsDoc(errorGroups));
  });

  it('docs/tasks/retry.md has the table of error tags', () => {
    expect(read('tasks/retry.md')).toBe(withTags(read('tasks/retry.md'), failureTags));
  });

  it('examples/dbt/models/sources.yml has the descriptions of the tables', () => {
    const text = read('../examples/dbt/models/sources.yml');
    expect(text).toBe(dbtSources([...rowTables(false), ...rowViews(duckDbDialect)]));
    expect(text).toContain('loaded_at_field: ended_at');
  });

  it('docs/why/benchmarks.md equals the saved results', () => {
    expect(read('why/benchmarks.md')).toBe(benchmarksDoc(savedResults()));
  });

  it('docs/reference/limits.md equals the constants of the code', async () => {
    expect(read('reference/limits.md')).toBe(await limitsDoc(load));
  });

  it.each(Object.keys(drawings))('docs/concepts/%s.svg equals its description', (name) => {
    expect(read(`concepts/${name}.svg`)).toBe((drawings as Record<string, string>)[name]);
  });
});

it.each(documents)('each block of %s is of a language that a test checks, or says why it does not run', (page) => {
  const unchecked = blocksOf(page).filter(
    ({ language, notRun }) => notRun === null && !['sh', 'sql', 'ts', 'js', 'python', 'json'].includes(language),
  );
  expect(unchecked).toEqual([]);
  // Markdown does not begin a block with a backtick after its language.
  expect(blocksOf(page).filter(({ notRun }) => notRun?.includes('`'))).toEqual([]);
});

it('the site lists every page', () => {
  const config = read('.vitepress/config.mjs');
  const flat = readdirSync(docs).filter((name) => name.endsWith('.md') && name !== 'index.md');
  const missing = [...pages.map((page) => page.replace('docs/', '')), ...flat]
    .map((page) => page.replace('.md', ''))
    .filter((page) => !new RegExp(`'${page}['#]`).test(config));
  expect(missing).toEqual([]);
});
