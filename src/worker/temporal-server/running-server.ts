import { isAlive } from '../../files/process-identity.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { takesConnections } from './free-port.js';
import type { OpenedClient } from './open-client.js';
import { addressOf, readRecord, serverFiles } from './server-files.js';

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

/** Address of the server of a state folder; null if its process is not alive. */
function runningServer(stateDir: string): string | null {
  const record = readRecord(serverFiles(stateDir));
  return record !== null && isAlive(record.pid, record.startTime) ? addressOf(record) : null;
}
