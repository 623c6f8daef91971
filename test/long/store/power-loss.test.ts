import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scenarios } from '../../support/files/power-scenarios.mjs';

const program = join(dirname(fileURLToPath(import.meta.url)), 'power-loss.mjs');
/** The disk is simulated, so its files may be in memory. */
const fast = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const TIME_MS = 300_000;

function newFolder(): string {
  const dir = mkdtempSync(join(fast, 'searchflow-power-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, 'disk');
}

interface Report {
  readonly runs: number;
  readonly steps: number;
  readonly broken: readonly string[];
}

describe.skipIf(process.platform !== 'linux')('a disk that fails at any write', () => {
  it.each(scenarios.map(({ name }) => name))(
    '%s: an error or a power loss at each write, sync and rename loses nothing durable and leaves no half file',
    async (name) => {
      const { stdout } = await promisify(execFile)(process.execPath, [program, 'all', name, newFolder()]);
      const { broken, steps, runs } = JSON.parse(stdout) as Report;
      expect(broken).toEqual([]);
      expect(steps).toBeGreaterThanOrEqual(40);
      expect(runs).toBeGreaterThan(2 * steps);
    },
    TIME_MS,
  );

  it.each([
    { name: 'journal', step: 75, seed: 0 },
    { name: 'journal', step: 100, seed: 3 },
    { name: 'jobs', step: 45, seed: 1 },
    { name: 'secrets', step: 30, seed: 4 },
    { name: 'parquet export', step: 30, seed: 0 },
  ])(
    '$name: after a power loss that ends the process at write $step, another process has everything durable',
    ({ name, step, seed }) => {
      const folder = newFolder();
      const killed = spawnSync(process.execPath, [program, 'kill', name, folder, `${step}`, `${seed}`], {
        encoding: 'utf8',
      });
      expect(killed.signal).toBe('SIGKILL');
      expect(killed.stdout).toContain('"kept"');
      const checked = spawnSync(process.execPath, [program, 'check', name, folder], {
        encoding: 'utf8',
        input: killed.stdout,
      });
      expect(JSON.parse(checked.stdout)).toEqual([]);
    },
    TIME_MS,
  );
});
