import { once } from 'node:events';
import { connect } from 'node:net';
import { isAlive } from '../../files/process-identity.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import type { OpenedClient } from './open-client.js';
import { addressOf, readRecord, serverFiles } from './server-files.js';

/** Longest wait for a server to accept a connection. */
const CONNECT_MS = 2000;

/** A client of the configured server, or of the embedded server if that is running; null if no server answers. Starts no server. */
export async function connectIfRunning(
  config: RuntimeConfig,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Pick<OpenedClient, 'client' | 'close'> | null> {
  const address = config.temporalAddress ?? runningServer(config.stateDir);
  if (address === null || !(await takesConnections(address))) return null;
  // The module is loaded here, because loading takes a third of a second, and a folder without a server does not need the module.
  const { openClient } = await import('./open-client.js');
  return openClient(config, env, address, '3s').catch((error: unknown) => {
    if (error instanceof UsageError) throw error;
    return null;
  });
}

/** Whether the address accepts connections. Temporal's own client would retry for seconds. */
export async function takesConnections(address: string): Promise<boolean> {
  const { hostname, port } = new URL(`tcp://${address}`);
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 7233) });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Address of the server of a state folder; null if its process is not alive. */
function runningServer(stateDir: string): string | null {
  const record = readRecord(serverFiles(stateDir));
  return record !== null && isAlive(record.pid, record.startTime) ? addressOf(record) : null;
}
