import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Runs a tool of node_modules; what it said where it failed, else an empty text. */
function complaints(script: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [`${root}node_modules/${script}`, ...args], {
    cwd: root,
    encoding: 'utf8',
  });
  return status === 0 ? '' : `${stdout}${stderr}`;
}

it('every file is formatted and passes the linter', () => {
  expect(complaints('@biomejs/biome/bin/biome', 'check', '--colors=off', '--error-on-warnings', '.')).toBe('');
});

it('tests and examples hold under the compiler, not only the sources', () => {
  expect(complaints('typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.test.json')).toBe('');
});

it('no export, file or dependency is left without a user', () => {
  expect(complaints('knip/bin/knip.js', '--no-progress')).toBe('');
});

it('environment, exit and console belong to the command and the worker', () => {
  const files = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const offenders = files.filter(
    (file) =>
      !/^(cli|worker)[\\/]/.test(file) &&
      /\bprocess\.(env|exit|exitCode)\b|\bconsole\./.test(readFileSync(`${root}src/${file}`, 'utf8')),
  );
  expect(files.length).toBeGreaterThan(10);
  expect(offenders).toEqual([]);
});
