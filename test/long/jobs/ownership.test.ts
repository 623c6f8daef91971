import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import type { Running } from '../../support/cli/command.js';
import { startCluster } from '../../support/jobs/cluster.js';
import { commandFolder } from '../../support/jobs/command-folder.js';
import { plainRows } from '../../support/jobs/folder.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const soon = { timeout: 60_000, interval: 20 };
const slowly = ['--batch', '1', '--qps', '20', '--yes'];

/** Runs commands as processes of one folder, and counts the purchases of each job. */
async function openFolder() {
  const sandbox = await startSandbox({ failureRate: 0, textBytes: 100, latencyMs: 50 });
  const { folder, start, said } = commandFolder(sandbox, { temporal });
  const bought = (name: string) => Object.keys(sandbox.bill().keys).filter((key) => key.includes(`//${name}-`)).length;
  return {
    folder,
    bought,
    run: (...args: string[]) => start(args),
    /** Writes a file with URLs that no other job has. */
    file(name: string, rows: number) {
      const urls = Array.from({ length: rows }, (_, index) => `https://${name}-${index}.example/`);
      writeFileSync(join(folder.dir, `${name}.csv`), `url\n${urls.join('\n')}\n`);
      return `${name}.csv`;
    },
    /** Resolves when this many units of a job were bought. */
    async reached(name: string, units: number) {
      const until = Date.now() + 60_000;
      while (bought(name) < units) {
        if (Date.now() > until) throw new Error(`only ${bought(name)} units:\n${said()}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
  };
}

it('fault 63: a job that was stopped or whose command was killed is not paid for by another command', async () => {
  const { run, file, bought, reached } = await openFolder();
  const big = ['enrich', file('big', 600), ...slowly];
  const other = (name: string) => run('enrich', file(name, 5), ...slowly);
  const first = run(...big);
  await reached('big', 20);
  first.child.kill('SIGINT');
  expect([await first.ended, first.err()]).toEqual([130, expect.stringContaining('Stopped. To resume:')]);
  let before = bought('big');
  const status = run('status', 'big');
  expect([await status.ended, status.out()]).toEqual([0, expect.stringContaining('its command was stopped')]);
  const beside = other('beside');
  expect([await beside.ended, beside.err()]).toEqual([0, expect.not.stringContaining('big')]);
  expect(bought('big')).toBe(before);

  const again = run('resume', 'big', '--qps', '20');
  await reached('big', before + 20);
  again.child.kill('SIGKILL');
  await again.ended;
  const next = other('next');
  // By now the service has received the requests that were in flight at the kill.
  await next.says('to buy');
  before = bought('big');
  expect([await next.ended, next.err()]).toEqual([
    0,
    expect.stringMatching(/Stopped big-\w{6}: its command ended; it has cost \$0\.\d+/),
  ]);
  expect(bought('big')).toBe(before);

  const third = run(...big);
  await reached('big', before + 20);
  third.child.kill('SIGKILL');
  await third.ended;
  const worker = run('worker', '--qps', '20');
  await worker.says(/Stopped big-\w{6}: its command ended; it has cost \$0\.\d+/);
  const detached = run('resume', 'big', '--detach');
  expect([await detached.ended, detached.out()]).toEqual([0, expect.stringMatching(/^big-\w{6}$/m)]);
  await reached('big', bought('big') + 20);
  worker.child.kill('SIGKILL');
  await worker.ended;
  const another = run('worker', '--qps', '20');
  await reached('big', bought('big') + 20);
  another.child.kill('SIGTERM');
  expect(await another.ended).toBe(143);
  const follows = other('follows');
  await follows.says(/Also running here, for schedules or other clients: big-\w{6}/);
  await follows.ended;
});

it('faults 27, 61: the second of two commands of one job watches, takes over from a dead one, and reports a stop', async () => {
  const { run, file, bought, reached } = await openFolder();
  const rows = ['enrich', file('rows', 400), ...slowly];
  const [one, two] = [run(...rows), run(...rows)];
  const watches = 'Watching it; this command takes over if that one dies.';
  const watcher = await Promise.race([one, two].map((each) => each.says(watches).then(() => each)));
  const owner = watcher === one ? two : one;
  await reached('rows', 20);
  owner.child.kill('SIGKILL');
  await owner.ended;
  const third = run(...rows);
  await third.says(watches);
  await reached('rows', bought('rows') + 20);
  const edited = run('enrich', file('rows', 401), ...slowly);
  expect([await edited.ended, edited.err()]).toEqual([2, expect.stringContaining('with other rows or options')]);
  watcher.child.kill('SIGINT');
  expect(await watcher.ended).toBe(130);
  expect(await third.ended).toBe(6);
});

it('fault 61: one job name with two files on a store belongs to one of them, and a killed command ends its job', async () => {
  const cluster = await startCluster(temporal, {
    rows: plainRows(400),
    sandbox: { latencyMs: 50 },
    env: { SEARCHFLOW_QPS: '20' },
  });
  onTestFinished(() => cluster.close());
  const { folder, sandbox } = cluster;
  const other = join(folder.dir, 'other.csv');
  writeFileSync(other, 'url\nhttps://other-1.example/\nhttps://other-2.example/\n');
  const named = (file: string) => ['enrich', file, '--job', 'x', '--batch', '1', '--yes'];
  const both = [cluster.start('a', named(folder.input)), cluster.start('b', named(other))];
  const refused = await Promise.race(both.map((each) => each.says('Use another --job name').then(() => each)));
  expect(await refused.ended).toBe(2);
  expect(refused.err()).toContain(folder.input);
  expect(refused.err()).toContain(other);
  const taken = both.find((each) => each !== refused) as Running;
  taken.child.kill('SIGINT');
  expect(await taken.ended).toBe(130);

  const big = cluster.start('a', ['enrich', folder.input, '--batch', '1', '--yes']);
  const sold = (name: string) => Object.keys(sandbox.bill().keys).filter((key) => key.includes(`//${name}-`)).length;
  await expect.poll(() => sold('site'), soon).toBeGreaterThan(20);
  big.child.kill('SIGKILL');
  await big.ended;
  // The service still answers requests that were in flight at the kill, so the test waits until the number is stable.
  const counts = [-1];
  await expect
    .poll(() => counts.push(sold('site')) > 1 && counts.at(-1) === counts.at(-2), { timeout: 20_000, interval: 500 })
    .toBe(true);
  const before = sold('site');
  const next = cluster.start('c', ['enrich', other, '--batch', '1', '--yes']);
  expect([await next.ended, next.err()]).toEqual([0, expect.stringMatching(/Stopped rows-\w{6}: its command ended/)]);
  expect(sold('site')).toBe(before);
});
