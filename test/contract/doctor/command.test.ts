import { readdirSync } from 'node:fs';
import { expect, inject, it } from 'vitest';
import { runCommand } from '../../support/cli/command.js';
import { folderOfTest } from '../../support/files/folders.js';
import { fileNamespace } from '../../support/temporal.js';

it('`doctor` ends with 0 without a problem and with 1 with one, and leaves nothing behind', async () => {
  const cwd = folderOfTest();
  const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: fileNamespace(), HOME: cwd };
  const good = await runCommand(['doctor', '--json'], { cwd, env });
  const data = JSON.parse(good.out);
  expect(data).toMatchObject({ kind: 'doctor', problems: 0 });
  expect([good.code, good.err]).toEqual([0, '']);
  expect([...new Set(data.checks.map(({ check }: { check: string }) => check))]).toEqual([
    ...['settings', 'node', 'packages', 'duckdb', 'file-locks', 'temporal-sdk', 'state-folder', 'disk'],
    ...['service', 'rate', 'temporal', 'namespace', 'task-queue'],
  ]);
  const bad = await runCommand(['doctor'], { cwd, env: { ...env, SEARCHFLOW_QPS: 'many' } });
  expect([bad.code, bad.err]).toEqual([1, '']);
  expect(bad.out).toMatch(/^problem {2}settings +SEARCHFLOW_QPS: 'many'.*\n +Correct it in the environment;/);
  expect(bad.out).toMatch(/\n\n1 problem\.\n$/);
  expect((await runCommand(['doctor', 'now'], { cwd, env })).code).toBe(2);
  expect(readdirSync(cwd)).toEqual([]);
});
