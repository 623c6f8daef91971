import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Running, runCommand, startCommand } from '../../support/cli/command.js';
import { folderOfFile } from '../../support/files/folders.js';

const cwd = folderOfFile();
let worker: Running;
const run = (...args: string[]) => runCommand(args, { cwd });
const work = async (...args: string[]) => {
  worker = startCommand(['worker', ...args], { cwd });
  await worker.says('Press Ctrl-C to stop');
};

beforeAll(async () => {
  const rows = Array.from({ length: 2400 }, (_, index) => `Name ${index},https://example-${index}.com`);
  writeFileSync(join(cwd, 'rows.csv'), `name,site\n${rows.join('\n')}\n`);
  writeFileSync(join(cwd, 'few.csv'), 'name,site\nExample,https://example.com\n');
  const refused = await run('enrich', 'few.csv', '--detach');
  expect(refused).toMatchObject({ code: 2, out: '', err: expect.stringContaining('searchflow worker') });
  // One request a second: the job of 2,400 rows takes at least 24 seconds.
  await work('--qps', '1');
});
afterAll(async () => {
  worker.child.kill('SIGTERM');
  await worker.ended;
});

it('a detached job outlives its command, a wait and a watching command, and wait has its exit code', async () => {
  const { code, out } = await run('enrich', 'rows.csv', '--detach', '--quiet');
  expect(code).toBe(0);
  const job = out.trim();
  const waiting = startCommand(['wait', job], { cwd });
  await waiting.says('rows (');
  waiting.child.kill('SIGINT');
  expect(await waiting.ended).toBe(130);
  expect(waiting.err()).toContain(`Stopped waiting; ${job} is not affected.`);
  const watching = startCommand(['enrich', 'rows.csv'], { cwd });
  await watching.says('rows (');
  watching.child.kill('SIGINT');
  expect(await watching.ended).toBe(130);
  expect((await run('wait', job, '--timeout', '1s')).code).toBe(7);
  expect((await run('pause', job)).code).toBe(0);
  const paused = await run('wait', job, '--json');
  expect([paused.code, JSON.parse(paused.out)]).toMatchObject([6, { kind: 'paused', pausedFor: 'person' }]);
  // The rest needs no time.
  worker.child.kill('SIGTERM');
  await worker.ended;
  await work();
  expect(await run('resume', job, '--detach')).toMatchObject({ code: 0, out: `${job}\n` });
  const done = await run('wait', job, '--json');
  expect([done.code, JSON.parse(done.out)]).toMatchObject([0, { phase: 'done', warehouse: { rows: 2400 } }]);
});

it('walks and exports detach, too', async () => {
  for (const line of ['events sync', 'monitors export']) {
    const { code, out } = await run(...line.split(' '), '--detach', '--json');
    const { job } = JSON.parse(out) as { job: string };
    expect(code).toBe(0);
    expect((await run('wait', job, '--json')).code).toBe(0);
  }
});
