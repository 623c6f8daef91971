import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, inject, it } from 'vitest';
import { CodedError, UsageError } from '../../../src/core/errors/coded-error.js';
import { exitCodeOfFailure } from '../../../src/core/processes/exit-codes.js';
import type { RuntimeConfig } from '../../../src/worker/config/runtime-types.js';
import { connectTemporal } from '../../../src/worker/temporal-server/temporal.js';

const connectTo = (temporalAddress: string, namespace: string) => {
  const config = { temporalAddress, namespace, dataConverterPath: null, say: () => undefined };
  return connectTemporal(config as unknown as RuntimeConfig, {}).catch((error: unknown) => error);
};

it('a server that does not answer is a failure that may pass, and no mistake in the command', async () => {
  const free = createServer().listen(0, '127.0.0.1');
  await once(free, 'listening');
  const { port } = free.address() as { readonly port: number };
  free.close();
  const error = await connectTo(`127.0.0.1:${port}`, 'default');
  expect(error).toBeInstanceOf(CodedError);
  expect(error).not.toBeInstanceOf(UsageError);
  expect((error as CodedError).errorCode).toBe('temporal-unreachable');
  expect(exitCodeOfFailure(error)).toBe(1);
});

it('a missing namespace is a mistake in the settings, and is named', async () => {
  const error = await connectTo(inject('temporalAddress'), 'nope');
  expect(error).toBeInstanceOf(UsageError);
  expect(error).toMatchObject({
    errorCode: 'temporal-namespace-missing',
    message: expect.stringContaining('has no namespace nope. Correct TEMPORAL_NAMESPACE'),
  });
});
