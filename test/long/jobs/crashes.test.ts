import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { startCommand } from '../../support/cli/command.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { boughtAgain } from '../../support/jobs/setting.js';
import { openTemporal } from '../../support/temporal.js';

let temporal: TestWorkflowEnvironment;
beforeAll(async () => {
  temporal = await openTemporal();
});
afterAll(() => temporal?.teardown());

/** On SIGUSR2 the process causes one of these crashes in its main thread. */
const crashes = {
  'an uncaught exception': `throw new Error('planted')`,
  'a full heap': 'const kept = []; for (;;) kept.push(new Array(1e6).fill(Math.random()))',
};

function planted(statement: string): string {
  const code = `import { isMainThread } from 'node:worker_threads';
if (isMainThread) process.on('SIGUSR2', () => { ${statement} });`;
  return `--max-old-space-size=400 --import=data:text/javascript,${encodeURIComponent(code)}`;
}

it.each(Object.entries(crashes))(
  'fault 29: %s ends the process; the same command buys the rest, and nothing twice',
  async (_, statement) => {
    const rows = plainRows(300);
    const folder = new Folder();
    folder.write(rows);
    const sandbox = await startSandbox({ failureRate: 0, textBytes: 100, latencyMs: 100 });
    onTestFinished(async () => {
      await sandbox.close();
      folder.remove();
    });
    const env = {
      SEARCHFLOW_API_KEY: 'key-of-the-crashed',
      SEARCHFLOW_BASE_URL: sandbox.url,
      SEARCHFLOW_STATE_DIR: folder.stateDir,
      SEARCHFLOW_TASK_QUEUE: folder.dir,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace as string,
      XDG_STATE_HOME: folder.dir,
    };
    const args = ['enrich', folder.input, '--into', folder.into, '--batch', '5', '--qps', '40', '--yes'];
    const run = (more: Record<string, string>) => startCommand(args, { cwd: folder.dir, env: { ...env, ...more } });

    const crashing = run({ NODE_OPTIONS: planted(statement) });
    onTestFinished(() => void crashing.child.kill('SIGKILL'));
    await Promise.race([
      expect.poll(() => sandbox.log().length, { timeout: 30_000, interval: 5 }).toBeGreaterThanOrEqual(10),
      crashing.ended.then((code) => Promise.reject(new Error(`ended with ${code}: ${crashing.err()}`))),
    ]);
    crashing.child.kill('SIGUSR2');
    expect(await crashing.ended).not.toBe(0);
    expect(crashing.out() + crashing.err()).not.toContain('key-of-the-crashed');
    expect(sandbox.log().length).toBeLessThan(60);

    const next = run({});
    expect([await next.ended, next.err()]).toEqual([0, expect.any(String)]);
    const loaded = await folder.warehouseRows();
    expect(loaded.map((row) => row.row_number)).toEqual(rows.map((_row, index) => index + 1));
    const unknown = await folder.query<{ url: string }>(
      `SELECT url FROM (SELECT unnest(unit_keys) AS unit_key FROM unknown_outcomes) JOIN enriched_rows USING (unit_key)`,
    );
    const listed = new Set(unknown.map(({ url }) => url));
    for (const url of Object.keys(boughtAgain(sandbox))) expect(listed).toContain(url);
  },
  120_000,
);
