import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { typeCommand } from '../../support/cli/type-command.js';
import { folderOfTest } from '../../support/files/folders.js';

/** Writes a program of this name that prints its place and its arguments. */
function writeProgram(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\nprintf '%s\\n' "${path}" "$@"\n`);
  chmodSync(path, 0o755);
}

it.each([
  ['the folder of the job', 'job/node_modules/.bin', true],
  ['a parent folder', 'node_modules/.bin', true],
  ['a folder of the PATH, if no folder above has it', 'elsewhere', false],
])('the job of `init` finds searchflow in %s', async (_, place, isInstalled) => {
  const project = folderOfTest();
  expect(await typeCommand(project, 'init job')).toMatchObject({ code: 0 });
  const program = join(project, place, 'searchflow');
  writeProgram(program);
  if (isInstalled) writeProgram(join(project, 'elsewhere', 'searchflow'));
  const env = { PATH: `${join(project, 'elsewhere')}:${process.env.PATH}` };
  const ran = execFileSync(join(project, 'job', 'companies.sh'), ['--dry-run'], {
    env,
    cwd: project,
    encoding: 'utf8',
  });
  const [found, command, ...args] = ran.trimEnd().split('\n');
  expect(found).toBe(program);
  expect([command, args.at(-1)]).toEqual(['enrich', '--dry-run']);
});
