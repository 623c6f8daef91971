import { expect, it } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import { commandFolder } from '../../support/jobs/command-folder.js';
import { type Folder, type InputRow, plainRows } from '../../support/jobs/folder.js';
import { killAllOf, processesOf } from '../../support/jobs/processes.js';
import { boughtAgain } from '../../support/jobs/setting.js';

async function openFolder(rows: readonly InputRow[], options: Partial<SandboxOptions>) {
  const sandbox = await startSandbox({ textBytes: 100, ...options });
  const { folder, start } = commandFolder(sandbox);
  folder.write(rows);
  const run = (...args: readonly string[]) => start([...args, '--qps', '200', '--concurrency', '4', '--json']);
  /** Starts `searchflow enrich` of the folder's rows with these flags. */
  const enrich = (...flags: readonly string[]) =>
    run('enrich', folder.input, '--into', folder.into, '--csv', folder.csv, '--batch', '5', ...flags);
  return { folder, sandbox, run, enrich };
}

/** Expects that every row is in the CSV once and in order. */
function expectRows(folder: Folder, rows: readonly InputRow[]): void {
  expect(folder.enriched().map(({ id }) => id)).toEqual(rows.map(([id]) => id));
}

it.runIf(process.platform === 'linux')(
  'a budget holds although everything is killed in the middle; after a raise the same command ends with the exact rows',
  async () => {
    const rows = plainRows(1250);
    const { folder, sandbox, enrich } = await openFolder(rows, { failureRate: 0.05, latencyMs: 40 });
    for (const sent of [20, 90]) {
      const running = enrich('--max-cost', '1.00');
      await Promise.race([
        expect.poll(() => sandbox.log().length, { timeout: 40_000, interval: 5 }).toBeGreaterThan(sent),
        running.ended.then((code) => Promise.reject(new Error(`ended with ${code}: ${running.err()}`))),
      ]);
      expect(processesOf(folder.stateDir).length).toBeGreaterThanOrEqual(3);
      killAllOf(folder.stateDir);
      await running.ended;
    }
    const stopped = enrich('--max-cost', '1.00');
    expect([await stopped.ended, stopped.err()]).toEqual([5, expect.stringContaining('Paused (budget)')]);
    expect(sandbox.bill().micros).toBeLessThanOrEqual(1_000_000);
    expect(sandbox.bill().micros).toBeGreaterThanOrEqual(950_000);
    // The same command runs first with the same budget, then with a higher one.
    const again = enrich('--max-cost', '1.00');
    expect(await again.ended).toBe(5);
    expect(sandbox.bill().micros).toBeLessThanOrEqual(1_000_000);
    const raised = enrich('--max-cost', '3');
    expect([await raised.ended, raised.err()]).toEqual([0, expect.any(String)]);
    expectRows(folder, rows);
    const unknown = await folder.query<{ keys: number }>(
      'SELECT coalesce(sum(len(unit_keys)), 0)::INTEGER AS keys FROM unknown_outcomes',
    );
    const extra = Object.values(boughtAgain(sandbox)).reduce((sum, times) => sum + times, 0);
    expect(extra).toBeLessThanOrEqual(unknown[0]?.keys ?? 0);
  },
);
