import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { examplePath, runExample } from '../../support/run-example.js';

it('examples/notebook reads failures, results and costs of a job', async () => {
  const { cwd, code } = await runExample('company-list/run.sh');
  expect(code).toBe(0);
  const venv = join(cwd, 'venv');
  execFileSync('python3', ['-m', 'venv', venv]);
  execFileSync(join(venv, 'bin', 'pip'), ['install', '-q', '-r', examplePath('notebook/requirements.txt')]);
  const env = { ...process.env, WAREHOUSE: join(cwd, 'out', 'companies.duckdb'), JOB: 'sites' };
  const out = execFileSync(join(venv, 'bin', 'python'), [examplePath('notebook/results.py')], {
    cwd,
    env,
    encoding: 'utf8',
  });
  expect(out).toContain('success');
  expect(out).toContain('unknown_dollars');
}, 300_000);
