import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { jobSummary } from '../../../src/core/row-job-schemas.js';
import { startSandbox } from '../../../src/sandbox/index.js';
import { folderOfFile } from '../../support/files/folders.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { type Host, startHost } from '../../support/jobs/host.js';
import { ofFile } from '../../support/of-file.js';
import { examplePath } from '../../support/run-example.js';
import { fileNamespace, temporalOfFile } from '../../support/temporal.js';

const venv = folderOfFile();
let folder: Folder;
const temporal = temporalOfFile();
const sandbox = ofFile(() => startSandbox({ failureRate: 0, textBytes: 100 }));
let host: Host | null = null;
beforeAll(async () => {
  execFileSync('python3', ['-m', 'venv', venv]);
  const requirements = examplePath('python-client/requirements.txt');
  execFileSync(join(venv, 'bin', 'pip'), ['install', '--quiet', '--requirement', requirements]);
  folder = new Folder();
}, 300_000);
afterAll(async () => {
  await host?.stop();
  folder?.remove();
});

/** Runs a command of the example; the worker is in this process, so the wait must not block it. */
function client(args: readonly string[], job = 'companies') {
  const env = {
    ...{ PATH: process.env.PATH, HOME: folder.dir, JOB: job, TASK_QUEUE: folder.dir },
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: fileNamespace(),
  };
  return new Promise<{ out: string; err: string; code: number | string | undefined }>((resolve) => {
    const script = [examplePath('python-client/client.py'), ...args];
    execFile(join(venv, 'bin', 'python'), script, { cwd: folder.dir, env }, (error, out, err) => {
      resolve({ out, err, code: error === null ? 0 : (error.code ?? error.signal) });
    });
  });
}

it('the client in Python starts a job, pauses it, watches it, resumes it and reads its result', async () => {
  const rows = plainRows(300);
  folder.write(rows);
  expect(await client(['start', 'rows.csv', 'url'])).toEqual({ out: 'Started companies\n', err: '', code: 0 });
  // No worker is running yet, so the pause comes before the first purchase.
  expect(await client(['pause'])).toEqual({ out: '', err: '', code: 0 });
  host = await startHost(temporal, folder.config(sandbox.url));
  const { out: paused } = await client(['watch']);
  expect(paused).toMatch(/^paused: 0 of 0 rows, \$0\.0000$/m);
  expect(paused).toMatch(/paused by a person\n$/);
  expect(sandbox.log()).toEqual([]);

  expect(await client(['resume', '10'])).toEqual({ out: '', err: '', code: 0 });
  expect((await client(['watch'])).out).toMatch(/^done: 300 of 300 rows, \$0\.3000\n$/m);
  const { out: result } = await client(['result']);
  expect(jobSummary.parse(JSON.parse(result))).toMatchObject({ phase: 'done', warehouse: { success: 300 } });
  expect(Object.values(sandbox.bill().keys)).toEqual(rows.map(() => 1));
  expect(existsSync(join(folder.dir, 'out', 'companies.csv'))).toBe(true);
});

it('the client in Python shows the type and the message of a failure', async () => {
  host ??= await startHost(temporal, folder.config(sandbox.url));
  await client(['start', 'missing.csv', 'url'], 'wrong');
  const { err, code } = await client(['result'], 'wrong');
  expect(err).toMatch(/^BadInput: .*missing\.csv/);
  expect(code).toBe(1);
});
