import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, Connection } from '@temporalio/client';
import { chromium } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { listeningPorts } from '../../support/worker/listening-ports.js';
import { serverUsers } from '../../support/worker/server-users.js';

const users = serverUsers();
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';

it('a page in Chromium starts no workflow on the embedded server, and reads nothing', async () => {
  const { pid, address } = await users.here(60_000);
  const ports = listeningPorts(pid);
  const site = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<title>page</title>'),
  );
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void site.close());
  // The page's name leads to this machine, as after DNS rebinding.
  const rules = 'MAP page.example 127.0.0.1';
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', `--host-resolver-rules=${rules}`] });
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  await page.goto(`http://page.example:${(site.address() as AddressInfo).port}/`);
  const seen = await page.evaluate(async (numbers) => {
    const body = JSON.stringify({ workflowType: { name: 'enrichRows' }, taskQueue: { name: 'searchflow' } });
    const path = '/api/v1/namespaces/default/workflows/from-a-page';
    const calls = numbers.flatMap((port) =>
      ['127.0.0.1', 'page.example'].map((host) => {
        const options = { method: 'POST', mode: 'no-cors', body, headers: { 'content-type': 'text/plain' } } as const;
        return fetch(`http://${host}:${port}${path}`, options).then(
          (response) => response.text(),
          () => '',
        );
      }),
    );
    return Promise.all(calls);
  }, ports);
  expect(seen.join('')).toBe('');
  const connection = await Connection.connect({ address });
  onTestFinished(() => connection.close());
  const started = [];
  for await (const one of new Client({ connection }).workflow.list()) started.push(one.workflowId);
  expect(started).not.toContain('from-a-page');
  // The page did reach the HTTP API: as another origin it is refused there, whatever its Host.
  const texts = [];
  for (const port of ports) {
    const answer = await page.goto(`http://page.example:${port}/api/v1/namespaces`).catch(() => null);
    texts.push(await answer?.text());
  }
  expect(texts.join('')).not.toContain('namespaceInfo');
});

it.skipIf(process.getuid?.() !== 0)(
  'another user of the machine cannot read the files of the embedded server',
  async () => {
    await users.here(60_000);
    const list = (path: string) => execFileSync('/bin/ls', [path], { uid: 65534, gid: 65534 });
    expect(() => list(users.stateDir)).toThrow(/denied/);
  },
);
