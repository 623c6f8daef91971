import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { openOneServer } from '../../../src/sources/one-server.js';

async function statusOf(url: string, method: 'GET' | 'CONNECT'): Promise<number | undefined> {
  const proxy = await openOneServer(() => true);
  onTestFinished(() => proxy.close());
  const [host, port] = proxy.address.split(':');
  const asked = request({ host, port, method, path: method === 'GET' ? `http://${url}/` : url }).end();
  const [answer] = await once(asked, method === 'GET' ? 'response' : 'connect');
  asked.destroy();
  return answer.statusCode;
}

it.each([
  '169.254.169.254:80',
  '2852039166:80',
  '[::ffff:169.254.169.254]:80',
  '[fd00:ec2::254]:80',
  '100.100.100.200:80',
])('the metadata address %s is never asked, even if a setting allows it', async (address) => {
  expect(await statusOf(address, 'GET')).toBe(403);
  expect(await statusOf(address, 'CONNECT')).toBe(403);
});

it('another server is reached by its name', async () => {
  const server = createServer((_asked, answer) => void answer.end('here')).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  expect(await statusOf(`localhost:${port}`, 'GET')).toBe(200);
  expect(await statusOf(`127.0.0.1:${port}`, 'CONNECT')).toBe(200);
});
