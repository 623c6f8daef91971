import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { typeCommand } from '../../support/cli/type-command.js';
import { folderOfTest } from '../../support/files/folders.js';

const scripts = new Map<string, string>();
beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish'])
    scripts.set(shell, (await typeCommand(tmpdir(), `completion ${shell}`)).out);
});

/** The candidates of bash for the last of these words. */
function completed(...words: readonly string[]): readonly string[] {
  const dir = folderOfTest();
  const reply = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _searchflow; printf "%s\\n" "${COMP'.concat('REPLY[@]}"');
  writeFileSync(join(dir, 'script'), `${scripts.get('bash')}\n${reply}\n`);
  const out = execFileSync('bash', ['--norc', 'script', 'searchflow', ...words], {
    cwd: dir,
    encoding: 'utf8',
  });
  expect(existsSync(join(dir, 'touched'))).toBe(false);
  return out.split('\n').filter((line) => line !== '');
}

it('bash completes commands, flags and fixed values', () => {
  expect(completed('enr')).toEqual(['enrich']);
  expect(completed('')).toEqual(expect.arrayContaining(['enrich', 'monitors', 'doctor']));
  expect(completed('monitors', 'pau')).toEqual(['pause']);
  expect(completed('enrich', 'a.csv', '--max-co')).toEqual(['--max-cost']);
  expect(completed('enrich', '--op', 's')).toEqual(['search']);
  expect(completed('enrich', '--op', '=', 's')).toEqual(['search']);
  expect(completed('enrich', '--op', '=')).toContain('contents');
  expect(completed('agent', 'run', '--effort', 'hi')).toEqual(['high']);
  expect(completed('completion', 'z')).toEqual(['zsh']);
});

it('bash leaves files and free texts to the shell, and evaluates nothing that is typed', () => {
  for (const words of [
    ['enrich', '--into', ''],
    ['enrich', '--into', '--op'],
    ['status', '"$(touch touched)'],
    ['status', '$(touch touched)', ''],
    ['enrich', '--op', '`touch touched`'],
    ['"; touch touched; "', 'x'],
  ])
    expect(completed(...words).filter((word) => !word.startsWith('--'))).toEqual([]);
});

it.each(['bash', 'zsh', 'fish'])('the script of %s is made of plain words only', (shell) => {
  const script = scripts.get(shell) ?? '';
  const lists = [...script.matchAll(/(?:words=|-a )'([^']*)'/g)].flatMap(([, list = '']) => list.split(' '));
  expect(lists.length).toBeGreaterThan(100);
  for (const word of lists) expect(word).toMatch(/^[\w.:-]*$/);
});
