import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { errorFixes } from '../../../src/core/errors/registry.js';
import { listen } from '../../support/cli/fake-runtime.js';
import { typeCommand } from '../../support/cli/type-command.js';
import { type WrongLine, wrongLines } from '../../support/cli/wrong-lines.js';
import { folderOfFile } from '../../support/files/folders.js';
import { ofFile } from '../../support/of-file.js';

const cwd = folderOfFile();
ofFile(listen);
beforeAll(async () => {
  writeFileSync(join(cwd, 'companies.csv'), 'name,website\nExample,https://example.com\n');
  writeFileSync(join(cwd, 'schema.json'), '{"type":"object"}');
  writeFileSync(join(cwd, 'launches.json'), '{}');
  writeFileSync(join(cwd, 'changes.json'), '{}');
});

/** The most characters of a refusal. */
const MOST = 4000;

/** Returns what is wrong with the refusal of a wrong command line; null if it is right. */
async function problemOf({ words, names }: WrongLine): Promise<string | null> {
  const line = words.map((word) => JSON.stringify(word.slice(0, 60))).join(' ');
  const typed = await Promise.race([typeCommand(cwd, words), sleep(20_000, null, { ref: false })]);
  if (typed === null) return `${line}: hangs`;
  const text = typed.usage || typed.refusal;
  const why = [
    Object.hasOwn(errorFixes, typed.errorCode ?? '') ? '' : `the code ${typed.errorCode}`,
    typed.code === 2 ? '' : `exit code ${typed.code}`,
    text.includes(names) ? '' : `does not name ${JSON.stringify(names)}`,
    /\n {4}at /.test(text) ? 'a stack' : '',
    // biome-ignore lint/suspicious/noControlCharactersInRegex: no such character may be shown
    /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/.test(text) ? 'a control character' : '',
    text.length > MOST ? `${text.length} characters` : '',
    typed.calls.some((call) => !/^(close|walks|known)/.test(call)) ? `calls ${typed.calls.join()}` : '',
  ].filter((one) => one !== '');
  return why.length === 0 ? null : `${line}: ${why.join(', ')}\n    ${text.slice(0, 200)}${typed.err.slice(0, 200)}`;
}

it('wrong command lines of every command end with 2, name the wrong place, and open nothing', async () => {
  const lines = wrongLines();
  expect(lines.length).toBeGreaterThan(200);
  const problems: string[] = [];
  for (const line of lines) {
    const problem = await problemOf(line);
    if (problem !== null) problems.push(problem);
  }
  expect(problems).toEqual([]);
  // Some thousand command lines are parsed, and the machine may be busy.
}, 300_000);
