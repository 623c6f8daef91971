// Runs the job in a copy of its files, on a sandbox of its own: made-up pages, exact bills, no cost. It uses none of your settings.
// Run it with: node --test
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startSandbox } from 'searchflow/sandbox';

const folder = dirname(dirname(fileURLToPath(import.meta.url)));
// The copy of the job finds searchflow as the job itself does: installed in this folder or a parent folder.
const installed = [folder];
while (dirname(installed.at(-1)) !== installed.at(-1)) installed.push(dirname(installed.at(-1)));

test('the job buys each website once, and nothing when it runs again', { timeout: 300_000 }, async (t) => {
  const sandbox = await startSandbox({ failureRate: 0 });
  const copy = await mkdtemp(join(tmpdir(), 'companies-test-'));
  t.after(async () => {
    await sandbox.close();
    await rm(copy, { recursive: true, force: true, maxRetries: 5 });
  });
  for (const file of ['companies.csv', 'companies.sh']) await copyFile(join(folder, file), join(copy, file));
  const { PATH = '', HOME, TEMPORAL_CLI } = process.env;
  const env = {
    PATH: [...installed.map((one) => join(one, 'node_modules', '.bin')), PATH].join(delimiter),
    HOME,
    ...(TEMPORAL_CLI ? { TEMPORAL_CLI } : {}),
    SEARCHFLOW_SETTINGS: '',
    SEARCHFLOW_API_KEY: 'sandbox',
    SEARCHFLOW_BASE_URL: sandbox.url,
  };
  const run = () => promisify(execFile)('sh', ['companies.sh', '--yes'], { cwd: copy, env });

  await run();
  const rows = (await readFile(join(folder, 'companies.csv'), 'utf8')).trim().split('\n').length - 1;
  const { keys, requests } = sandbox.bill();
  assert.deepEqual(Object.values(keys), Array(rows).fill(1));
  const [header] = (await readFile(join(copy, 'out', 'companies.csv'), 'utf8')).split('\n');
  assert.match(header, /^name,website,.*\btext\b/);

  await run();
  assert.equal(sandbox.bill().requests, requests);
});
