import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { serveStatus } from '../../../src/worker/host/worker-host.js';
import { freePort } from '../../../src/worker/temporal-server/server-files.js';

/** A status server. `state` may be changed; `get` returns the status code and the text of an answer. */
async function open(host = '127.0.0.1') {
  const state = { why: 'starting' as string | null, port: null as number | null };
  const address = `${host}:${await freePort()}`;
  const server = await serveStatus(address, { whyNotReady: () => state.why, exporterPort: () => state.port });
  let isOpen = true;
  const close = async () => {
    if (isOpen) await server.close();
    isOpen = false;
  };
  onTestFinished(close);
  const get = async (path: string, method = 'GET') => {
    const answer = await fetch(`http://${address}${path}`, { method });
    return [answer.status, await answer.text()] as const;
  };
  return { state, address, get, close };
}

it('healthz answers at once, and readyz only while the worker takes work', async () => {
  const { state, get } = await open();
  expect(await get('/healthz')).toEqual([200, 'ok\n']);
  expect(await get('/readyz')).toEqual([503, 'starting\n']);
  state.why = null;
  expect(await get('/readyz')).toEqual([200, 'ready\n']);
  state.why = 'draining';
  expect(await get('/readyz?verbose')).toEqual([503, 'draining\n']);
  expect(await get('/healthz')).toEqual([200, 'ok\n']);
});

it('metrics come from the port of the SDK; without one, the answer says so', async () => {
  const { state, get } = await open();
  expect((await get('/metrics'))[0]).toBe(503);
  const sdk = createServer((request, response) => response.end(`of ${request.url}\n`)).listen(0, '127.0.0.1');
  await once(sdk, 'listening');
  state.port = (sdk.address() as AddressInfo).port;
  expect(await get('/metrics')).toEqual([200, 'of /metrics\n']);
  sdk.closeAllConnections();
  await new Promise((closed) => sdk.close(closed));
  expect(await get('/metrics')).toEqual([502, 'the SDK does not return its metrics\n']);
});

it('other paths and methods are refused', async () => {
  const { get } = await open();
  expect((await get('/'))[0]).toBe(404);
  expect((await get('/healthz', 'POST'))[0]).toBe(405);
});

it('an address that is in use is a usage error, and is free again after the end', async () => {
  const { address, close } = await open();
  const sources = { whyNotReady: () => null, exporterPort: () => null };
  await expect(serveStatus(address, sources)).rejects.toThrow(
    `SEARCHFLOW_METRICS: metrics cannot be served at ${address}: Address already in use`,
  );
  await close();
  const next = await serveStatus(address, sources);
  await next.close();
});
