import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { expect, inject, it, onTestFinished, vi } from 'vitest';
import { connectClient, retriesUntilClose } from '../../../src/worker/temporal-server/retries-until-close.js';

it('connects to Temporal without the proxy of the environment', async () => {
  for (const name of ['grpc_proxy', 'https_proxy', 'http_proxy']) vi.stubEnv(name, 'http://127.0.0.1:1');
  for (const name of ['no_grpc_proxy', 'no_proxy']) vi.stubEnv(name, '');
  onTestFinished(() => void vi.unstubAllEnvs());
  const { connection, close } = await connectClient({ address: inject('temporalAddress'), connectTimeout: '5s' });
  expect(await connection.workflowService.getSystemInfo({})).toHaveProperty('serverVersion');
  await close();
});

it('ends a call that waits for its retry before the connection closes', async () => {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = `127.0.0.1:${(server.address() as { port: number }).port}`;
  const retries = retriesUntilClose();
  const connection = Connection.lazy({ address, interceptors: [retries.interceptor] });
  const call = connection.withDeadline(Date.now() + 30_000, () => connection.workflowService.getSystemInfo({}));
  const ended = call.then(
    () => 'answered',
    () => 'failed',
  );
  await once(server, 'connection');
  // The call has failed by now, or fails when the connection is closed. In both cases no retry may follow after the close.
  await delay(5);
  await retries.close(() => connection.close());
  expect(await Promise.race([ended, delay(0, 'waiting')])).toBe('failed');
});
