import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { CodedError } from '../../../src/core/errors/coded-error.js';
import { type RuntimeConfig, UsageError } from '../../../src/worker/config/runtime-types.js';
import { connectTemporal } from '../../../src/worker/temporal-server/temporal.js';

it('a Temporal server that accepts connections and says nothing is named before the connection fails', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  await once(silent, 'listening');
  const temporalAddress = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const said: string[] = [];
  const config = { temporalAddress, namespace: 'default', say: (sentence: string) => void said.push(sentence) };
  const failure = await connectTemporal(config as RuntimeConfig, {}).catch((error: unknown) => error);
  expect(said).toEqual([`Waiting for an answer of the Temporal server at ${temporalAddress} …`]);
  expect(failure).toBeInstanceOf(CodedError);
  // The same command can succeed later, so the exit code is not that of a mistake.
  expect(failure).not.toBeInstanceOf(UsageError);
  expect((failure as Error).message).toContain(`No Temporal server answers at ${temporalAddress} (TEMPORAL_ADDRESS)`);
});
