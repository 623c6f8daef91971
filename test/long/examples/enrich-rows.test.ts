import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { folderOfFile } from '../../support/files/folders.js';
import { ofFile } from '../../support/of-file.js';
import { examplePath } from '../../support/run-example.js';
import { fileNamespace, temporalOfFile } from '../../support/temporal.js';

temporalOfFile();
const folder = folderOfFile();
const python = join(folder, 'venv', 'bin', 'python');
const sandbox = ofFile(() => startSandbox({ failureRate: 0 }));
let worker: ChildProcess | null = null;
const env = () => ({
  ...{ PATH: process.env.PATH, HOME: folder, SEARCHFLOW_API_KEY: 'key', SEARCHFLOW_BASE_URL: sandbox.url },
  ...{ TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: fileNamespace() },
});

beforeAll(async () => {
  execFileSync('npx', ['tsc', '-p', examplePath('enrich-rows')]);
  execFileSync('python3', ['-m', 'venv', join(folder, 'venv')]);
  execFileSync(python, ['-m', 'pip', 'install', '-q', '-r', examplePath('enrich-rows/requirements.txt')]);
  worker = spawn(process.execPath, [examplePath('enrich-rows/lib/worker.js')], { env: env(), stdio: 'ignore' });
}, 300_000);
afterAll(async () => {
  const ended = worker && once(worker, 'exit');
  worker?.kill('SIGTERM');
  await ended;
});

it.each([
  [
    'a workflow of a team',
    process.execPath,
    ['lib/client.js', 'Acme', 'Globex', 'Acme'],
    /"sites":\["https:.*"costDollars":0\.014/,
    2,
  ],
  ['a workflow in Python', python, ['search.py', 'Acme official site'], /^(https:\S+\n){3}$/, 1],
] as const)(
  'examples/enrich-rows: %s gets answers of the worker',
  async (_, program, [file, ...args], shown, requests) => {
    sandbox.reset();
    const { stdout } = await promisify(execFile)(program, [examplePath(`enrich-rows/${file}`), ...args], {
      env: env(),
    });
    expect(stdout).toMatch(shown);
    expect(sandbox.bill().requests).toBe(requests);
  },
);
