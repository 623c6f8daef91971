import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { summaryData } from '../../../src/cli/progress/summary.js';
import { exitCodeMeanings } from '../../../src/core/processes/exit-codes.js';
import { printed } from '../../../src/core/text/printed.js';
import { summary } from '../../support/cli/fake-runtime.js';
import { blocksOf } from '../../support/docs/blocks.js';

const page = readFileSync(fileURLToPath(new URL('../../../docs/tasks/schedulers.md', import.meta.url)), 'utf8');
const snippets = (language: string) =>
  blocksOf('docs/tasks/schedulers.md')
    .filter((block) => block.language === language)
    .map(({ code }) => code);

it('the scripts of the recipes have the syntax of their languages', () => {
  const python = snippets('python');
  expect(python).toHaveLength(2);
  for (const input of python) {
    const check = 'import ast, sys; ast.parse(sys.stdin.read())';
    expect(spawnSync('python3', ['-c', check], { input, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
  }
  for (const input of snippets('sh'))
    expect(spawnSync('sh', ['-n'], { input, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
});

it('the recipes name every exit code, and read fields that a summary has', () => {
  const table = page.split('\n## ')[0] ?? '';
  for (const [code] of exitCodeMeanings) expect(table).toContain(`\`${code}\``);
  const ending = { summary, unknown: [], bill: null, csv: null, origin: 'o', badRows: [], ran: true };
  const data = printed(summaryData(ending)) as { readonly [field: string]: unknown };
  const fields = [...page.matchAll(/summary\["(\w+)"\](?:\["(\w+)"\])?/g)];
  expect(fields.length).toBeGreaterThan(3);
  for (const [, field = '', inner] of fields) {
    expect(data).toHaveProperty(field);
    if (inner !== undefined) expect(data[field]).toHaveProperty(inner);
  }
});
