import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { commandFolder } from '../../support/jobs/command-folder.js';
import type { Folder } from '../../support/jobs/folder.js';
import { boughtAgain } from '../../support/jobs/setting.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const soon = { timeout: 60_000, interval: 50 };

it('a worker that is restarted again and again finishes the jobs of every owner except a stopped one, and buys nothing twice', async () => {
  const sandbox = await startSandbox({ failureRate: 0, textBytes: 100, latencyMs: 50 });
  const { folder, start, said } = commandFolder(sandbox, { temporal });
  const run = (...args: string[]) => start(args);
  const bought = (name: string) => Object.keys(sandbox.bill().keys).filter((key) => key.includes(`//${name}-`)).length;
  const file = (name: string, rows: number) => {
    const urls = Array.from({ length: rows }, (_, index) => `https://${name}-${index}.example/`);
    writeFileSync(join(folder.dir, `${name}.csv`), `url\n${urls.join('\n')}\n`);
    return `${name}.csv`;
  };
  const slowly = ['--into', folder.into, '--batch', '1', '--qps', '40', '--yes'];
  /** Runs a command until it has bought some rows, then ends it with a signal. */
  const cut = async (name: string, signal: NodeJS.Signals) => {
    const running = run('enrich', file(name, 120), '--job', name, ...slowly);
    await expect.poll(() => bought(name), soon).toBeGreaterThan(10);
    running.child.kill(signal);
    await running.ended;
  };
  await cut('stopped', 'SIGINT');
  await cut('killed', 'SIGKILL');
  const stopped = bought('stopped');
  const scheduled = run('enrich', file('scheduled', 120), '--every', '30d', '--schedule-name', 'nightly', ...slowly);
  expect([await scheduled.ended, scheduled.err()]).toEqual([0, expect.any(String)]);
  const triggered = run('schedule', 'trigger', 'nightly');
  expect([await triggered.ended, triggered.err()]).toEqual([0, expect.any(String)]);
  const client = await temporal.client.workflow.start('enrichCsv', {
    ...{ taskQueue: folder.dir, workflowId: 'by-a-client' },
    args: [{ input: join(folder.dir, file('client', 120)), into: folder.into, batch: 1 }],
  });

  const names = ['killed', 'scheduled', 'client'];
  const all = () => names.reduce((sum, name) => sum + bought(name), 0);
  // systemd ends a worker by SIGTERM, and by SIGKILL if it takes too long.
  for (const signal of ['SIGTERM', 'SIGKILL', 'SIGTERM'] as const) {
    const worker = run('worker', '--qps', '40');
    const before = all();
    await Promise.race([
      expect.poll(all, soon).toBeGreaterThan(before + 30),
      worker.ended.then((code) => Promise.reject(new Error(`ended with ${code}: ${worker.err()}`))),
    ]);
    worker.child.kill(signal);
    await worker.ended;
  }
  const last = run('worker', '--qps', '100');
  await expect.poll(() => names.map(bought), { ...soon, timeout: 120_000 }).toEqual([120, 120, 120]);
  // A quick worker may have finished a job before its signal, so any worker may say so.
  for (const name of ['killed', 'scheduled', 'by-a-client']) {
    await expect.poll(said, soon).toMatch(new RegExp(`${name}\\S* \\(enrichCsv\\): done`));
  }
  expect(await client.result()).toMatchObject({ phase: 'done', warehouse: { success: 120 } });
  expect(bought('stopped')).toBe(stopped);
  last.child.kill('SIGTERM');
  expect(await last.ended).toBe(143);
  const listed = await unknownKeys(folder);
  expect(Object.keys(boughtAgain(sandbox)).length).toBeLessThanOrEqual(listed);
}, 300_000);

/** Number of units whose answers were lost by a kill. Only these may be bought a second time. */
async function unknownKeys(folder: Folder): Promise<number> {
  const [row] = await folder.query<{ units: number }>(
    'SELECT coalesce(sum(len(unit_keys)), 0)::INTEGER AS units FROM unknown_outcomes',
  );
  return row?.units ?? 0;
}
