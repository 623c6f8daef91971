import { expect, it, onTestFinished } from 'vitest';
import { type Fault, startSandbox } from '../../../src/sandbox/index.js';
import { startCommand } from '../../support/cli/command.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { killAllOf, processesOf } from '../../support/jobs/processes.js';
import { boughtAgain } from '../../support/jobs/setting.js';

const rows = plainRows(600);
const faults: Fault[] = [
  { when: { probability: 0.04, seed: 1 }, do: { kind: 'reset', moment: 'before' } },
  { when: { probability: 0.04, seed: 2 }, do: { kind: 'reset', moment: 'after' } },
  { when: { probability: 0.04, seed: 3 }, do: { kind: 'status', status: 500 } },
  { when: { probability: 0.04, seed: 4 }, do: { kind: 'truncate', fraction: 0.5 } },
];

it.runIf(process.platform === 'linux')(
  'fault 24: killed with its server, the same command continues: every row once, no landed answer bought again',
  async () => {
    const folder = new Folder();
    folder.write(rows);
    const sandbox = await startSandbox({ failureRate: 0, textBytes: 100, latencyMs: 150, faults });
    const env = {
      SEARCHFLOW_API_KEY: 'key-of-the-killed',
      SEARCHFLOW_BASE_URL: sandbox.url,
      SEARCHFLOW_STATE_DIR: folder.stateDir,
      XDG_STATE_HOME: folder.dir,
    };
    onTestFinished(async () => {
      killAllOf(folder.stateDir);
      await sandbox.close();
      folder.remove();
    });
    const args = ['enrich', folder.input, '--into', folder.into, '--csv', folder.csv];
    const run = () =>
      startCommand([...args, '--batch', '10', '--qps', '100', '--concurrency', '8', '--json'], {
        cwd: folder.dir,
        env,
      });

    for (const sent of [1, 20, 45]) {
      const running = run();
      await Promise.race([
        expect.poll(() => sandbox.log().length, { timeout: 30_000, interval: 5 }).toBeGreaterThanOrEqual(sent),
        running.ended.then((code) => Promise.reject(new Error(`ended with ${code}: ${running.err()}`))),
      ]);
      expect(processesOf(folder.stateDir).length).toBeGreaterThanOrEqual(3);
      killAllOf(folder.stateDir);
      await running.ended;
    }
    const last = run();
    expect([await last.ended, last.err()]).toEqual([0, expect.any(String)]);

    const loaded = await folder.warehouseRows();
    expect(loaded.map((row) => [row.row_number, row.input])).toEqual(rows.map((row, index) => [index + 1, row]));
    expect(loaded.every((row) => row.status === 'success' || row.error_tag === 'UNKNOWN_OUTCOME')).toBe(true);
    expect(folder.enriched().map(({ id }) => id)).toEqual(rows.map(([id]) => id));
    const unknown = await folder.query<{ url: string; times: number }>(
      `SELECT url, count(*)::INTEGER AS times FROM (SELECT unnest(unit_keys) AS unit_key FROM unknown_outcomes)
     JOIN enriched_rows USING (unit_key) GROUP BY url`,
    );
    const listed = new Map(unknown.map(({ url, times }) => [url, times]));
    const again = boughtAgain(sandbox);
    expect(Object.keys(again).length).toBeGreaterThan(0);
    for (const [url, times] of Object.entries(again)) expect(listed.get(url) ?? 0, url).toBeGreaterThanOrEqual(times);
  },
  120_000,
);
