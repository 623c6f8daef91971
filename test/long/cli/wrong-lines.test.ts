import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { runCommand } from '../../support/cli/command.js';
import { wrongLines } from '../../support/cli/wrong-lines.js';

const cwd = mkdtempSync(join(tmpdir(), 'searchflow-wrong-'));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));
const files = ['changes.json', 'companies.csv', 'launches.json', 'schema.json'];
writeFileSync(join(cwd, 'companies.csv'), 'name,website\nExample,https://example.com\n');
for (const file of files.filter((name) => name.endsWith('.json'))) writeFileSync(join(cwd, file), '{}');

// biome-ignore lint/suspicious/noControlCharactersInRegex: no such character may be shown
const unprintable = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

/** Each n-th line, so that each run of the process is worth its time; the unit tier parses all of them. */
const EACH = 71;

it('the command refuses wrong command lines with 2, one readable message, no stack and no file', async () => {
  const lines = wrongLines().filter((_, index) => index % EACH === 0);
  expect(lines.length).toBeGreaterThan(12);
  const wrong: unknown[] = [];
  for (const { words, names } of lines) {
    const { code, out, err } = await runCommand(words, { cwd });
    const isRight = code === 2 && out === '' && err.includes(names) && !/\n {4}at /.test(err) && !unprintable.test(err);
    if (!isRight)
      wrong.push({ words: words.map((word) => word.slice(0, 60)), names, code, out, err: err.slice(0, 300) });
  }
  expect(wrong).toEqual([]);
  expect(readdirSync(cwd).sort()).toEqual(files);
}, 600_000);

it.each([
  ['status nope', 'There is no job nope'],
  ['pause nope', 'There is no job nope'],
  ['resume nope', 'There is no job nope'],
  ['cancel nope', 'There is no job nope'],
  ['export nope --csv x.csv', 'There is no job nope'],
  ['publish nope --to out/x', 'There is no job nope'],
  ['schedule show nope', 'There is no schedule nope'],
  ['schedule trigger nope', 'There is no schedule nope'],
  ['monitors approve nope', 'nope is not running'],
  ['enrich nope.csv', 'File nope.csv not found'],
  ['agent rows nope.csv --query x', 'File nope.csv not found'],
  ['monitors create nope.json --secret-file s', 'File nope.json not found'],
])('%s: exit code 2', async (line, sentence) => {
  const { code, out, err } = await runCommand(line.split(' '), { cwd });
  expect(err).toContain(sentence);
  expect({ code, out }).toEqual({ code: 2, out: '' });
});
