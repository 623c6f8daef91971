import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { examplePath } from '../../support/run-example.js';

it('the client in Go is formatted, passes go vet, is built, and prints its usage', () => {
  const folder = mkdtempSync(join(tmpdir(), 'searchflow-go-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
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
