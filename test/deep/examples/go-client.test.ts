import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folderOfTest } from '../../support/files/folders.js';
import { examplePath } from '../../support/run-example.js';

it('the client in Go is formatted, passes go vet, is built, and prints its usage', () => {
  const folder = folderOfTest();
  const program = join(folder, 'client');
  const run = (command: string, ...args: string[]) =>
    spawnSync(command, args, { cwd: examplePath('go-client'), encoding: 'utf8' });
  expect(run('gofmt', '-l', '.')).toMatchObject({ status: 0, stdout: '' });
  for (const args of [
    ['mod', 'verify'],
    ['vet', './...'],
    ['build', '-o', program, '.'],
  ])
    expect(run('go', ...args), args.join(' ')).toMatchObject({ status: 0 });
  expect(run(program)).toMatchObject({ status: 1, stderr: expect.stringMatching(/usage: go run \. start|connection/) });
});
