import { spawnSync } from 'node:child_process';
import { readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { folderOfFile, folderOfTest } from '../../support/files/folders.js';

const bin = fileURLToPath(new URL('../../../dist/bin/searchflow.js', import.meta.url));
const cwd = folderOfFile();

function run(...args: readonly string[]) {
  const env = { PATH: process.env.PATH, EXA_API_KEY: 'canary-5f2e91c4' };
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], { cwd, env, encoding: 'utf8' });
  const lines = stderr.trimEnd().split('\n');
  return { status, stdout, stderr, last: lines.at(-1) ?? '', count: lines.length };
}

it.each([
  [['enrihc'], 'unknown-command'],
  [['jobs', '--frob'], 'unknown-option'],
  [['enrich', 'canary-5f2e91c4.csv'], 'input-missing'],
  [['enrich', '-', '--limit', 'x'], 'invalid-argument'],
])('the last line of an error names its code, and with --json the error is one object on stderr: %j', (args, code) => {
  const text = run(...args);
  expect(text).toMatchObject({ status: 2, stdout: '', last: expect.stringMatching(`^${code}: [A-Z].*\\.$`) as string });
  const json = run(...args, '--json');
  expect(json).toMatchObject({ status: 2, stdout: '', count: 1 });
  const { message, ...error } = JSON.parse(json.last) as { readonly message: string };
  expect(error).toMatchObject({ kind: 'error', code, exitCode: 2, fix: text.last.slice(code.length + 2) });
  expect(text.stderr).toContain(message.split('\n')[0]);
  expect(text.stderr + json.stderr).not.toContain('canary');
  expect(readdirSync(cwd)).toEqual([]);
});

it('a link runs the built program from another folder, with relative files', () => {
  const folder = folderOfTest();
  const link = join(folder, 'searchflow');
  symlinkSync(bin, link);
  writeFileSync(join(folder, 'rows.csv'), 'url\nhttps://example.com\n');
  const env = { PATH: dirname(process.execPath), HOME: folder };
  const { status, stdout } = spawnSync(link, ['enrich', 'rows.csv', '--dry-run', '--json'], {
    ...{ cwd: folder, env, encoding: 'utf8' },
  });
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ kind: 'plan', rows: 1 });
});
