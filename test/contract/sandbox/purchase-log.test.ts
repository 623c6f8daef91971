import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { folderOfTest } from '../../support/files/folders.js';
import { post, urls } from '../../support/sandbox/client.js';

let folder: string;
let ledgerFile: string;
beforeEach(() => {
  folder = folderOfTest();
  ledgerFile = join(folder, 'ledger.jsonl');
});

test('the purchase log and the credits survive a restart; request ids never repeat', async () => {
  const first = await startSandbox({ failureRate: 0, ledgerFile, credits: 1 });
  const one = await post(first, '/contents', { urls: urls(100) });
  first.setCredits(0.25);
  await post(first, '/search', { query: 'q' });
  const before = first.bill();
  await first.close();

  const second = await startSandbox({ failureRate: 0, ledgerFile, credits: 1 });
  expect(second.bill()).toEqual(before);
  const two = await post(second, '/contents', { urls: urls(100) });
  expect(two.json.requestId).not.toBe(one.json.requestId);
  await post(second, '/contents', { urls: urls(100) });
  expect((await post(second, '/contents', { urls: urls(100) })).json.tag).toBe('NO_MORE_CREDITS');
  expect(second.bill().keys['contents https://site.example/1']).toBe(3);
  await second.close();
});

test('a torn last line is dropped and does not damage the next one; another bad line is an error', async () => {
  const first = await startSandbox({ failureRate: 0, ledgerFile });
  await post(first, '/contents', { urls: urls(1) });
  await first.close();
  await appendFile(ledgerFile, '{"operation":"contents","opt');
  const second = await startSandbox({ failureRate: 0, ledgerFile });
  await post(second, '/contents', { urls: urls(1, 2) });
  await second.close();
  const third = await startSandbox({ failureRate: 0, ledgerFile });
  expect(third.bill()).toMatchObject({ requests: 2, units: 2 });
  third.reset();
  await post(third, '/contents', { urls: urls(1, 3) });
  await third.close();
  const fourth = await startSandbox({ failureRate: 0, ledgerFile });
  expect(fourth.bill().keys).toEqual({ 'contents https://site.example/3': 1 });
  await fourth.close();

  await writeFile(ledgerFile, `nonsense\n${await readFile(ledgerFile, 'utf8')}`);
  await expect(startSandbox({ ledgerFile })).rejects.toThrow('line 1');
});

test('every answer that arrived before a SIGKILL is in the purchase log', async () => {
  const script = `
    import { startSandbox } from ${JSON.stringify(new URL('../../../dist/sandbox/index.js', import.meta.url).href)};
    const sandbox = await startSandbox({ failureRate: 0, ledgerFile: ${JSON.stringify(ledgerFile)} });
    console.log(sandbox.port);
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = Number(String((await once(child.stdout, 'data'))[0]));
  const remote = { url: `http://127.0.0.1:${port}` } as Parameters<typeof post>[0];
  const arrived: string[] = [];
  const client = async (start: number) => {
    for (let from = start; ; from += 40) {
      const { json } = await post(remote, '/contents', { urls: urls(10, from) });
      arrived.push(...json.results.map((one: { url: string }) => one.url));
      if (arrived.length > 2000) child.kill('SIGKILL');
    }
  };
  await Promise.allSettled([1, 11, 21, 31].map(client));
  const sandbox = await startSandbox({ ledgerFile });
  const { keys } = sandbox.bill();
  await sandbox.close();
  expect(arrived.length).toBeGreaterThan(2000);
  expect(arrived.filter((url) => keys[`contents ${url}`] !== 1)).toEqual([]);
  expect(Object.keys(keys).length - arrived.length).toBeLessThanOrEqual(40);
});
