import { expect, it } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { commandFolder } from '../../support/jobs/command-folder.js';
import { plainRows } from '../../support/jobs/folder.js';
import { boughtAgain } from '../../support/jobs/setting.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

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
    const sandbox = await startSandbox({ failureRate: 0, textBytes: 100, latencyMs: 100 });
    const { folder, start } = commandFolder(sandbox, { key: 'key-of-the-crashed', temporal });
    folder.write(rows);
    const args = ['enrich', folder.input, '--into', folder.into, '--batch', '5', '--qps', '40', '--yes'];
    const run = (more: Record<string, string>) => start(args, more);

    const crashing = run({ NODE_OPTIONS: planted(statement) });
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
