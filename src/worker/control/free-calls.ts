import { callWithRetries } from '../../activities/call/call-in-turn.js';
import { redactAnswer } from '../../activities/call/landing.js';
import type { Client } from '../../api/client.js';
import { type OperationName, operationTable } from '../../api/operations.js';
import { createTransport, type SendOptions } from '../../api/transport.js';
import type { Endpoint } from '../../api/wire/endpoint.js';
import type { Limiter } from '../../core/limiter/limiter.js';
import type { RuntimeConfig } from '../config/runtime-types.js';

/** Makes a free call that may be repeated, in its turn of the team's rate. Returns the answer without secrets. */
export type FreeCall = <Name extends OperationName>(
  name: Name,
  ...call: Parameters<Client[Name]>
) => Promise<Awaited<ReturnType<Client[Name]>>['data']>;

/** Makes free calls to the service, without Temporal. After a retryable failure, a call is repeated until `signal` is aborted. */
export async function withFreeCalls<T>(
  { baseUrl, apiKey, wire, say }: RuntimeConfig,
  limiter: Limiter,
  signal: AbortSignal,
  work: (call: FreeCall) => Promise<T>,
): Promise<T> {
  const transport = createTransport({ ...wire, baseUrl, apiKey, warn: ({ message }) => say(message) });
  const onRetry = ({ message }: Error) => say(`Trying again: ${message}`);
  const call = async (name: OperationName, input: object, options: SendOptions = {}) => {
    const endpoint = operationTable[name] as unknown as Endpoint<object, unknown>;
    transport.check(endpoint, input, options);
    const retries = { tries: 5, signal, onRetry };
    const { data } = await callWithRetries({ transport, limiter }, endpoint, input, { ...options, ...retries });
    return redactAnswer(data, endpoint.secrets);
  };
  try {
    return await work(call as FreeCall);
  } finally {
    await transport.close();
  }
}
