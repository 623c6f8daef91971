import type { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { isAlive } from '../../files/process-identity.js';
import { takesConnections } from '../config/probe.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import type { Environment } from '../config/variables.js';
import type { OpenedClient } from './open-client.js';
import { addressOf, readRecord, serverFiles } from './server-files.js';

const nothing = () => undefined;

/** Time in ms after which a wait for a Temporal server is reported. */
const REPORT_AFTER_MS = 5000;

/** A connection to Temporal: a client, and a worker's connection on demand. */
export interface Temporal {
  readonly client: Client;
  readonly address: string;
  /** Makes a connection for a worker. The connection is closed with the `Temporal`. */
  nativeConnection(): Promise<NativeConnection>;
  close(): Promise<void>;
}

export interface ServerAccess {
  /** Connects to the server, which is started if needed. */
  connect(): Promise<Temporal>;
  /** Connects, and resolves once nothing is left but the wait for an answer of the server, or once the connection has failed. */
  awaitAnswer(): Promise<void>;
}

/**
 * Connects to the configured address, or to the embedded server, which is started if needed. Throws `UsageError` if no server answers.
 * `awaited` is called once nothing is left but the wait for an answer of the server.
 */
export async function connectTemporal(
  config: RuntimeConfig,
  env: Environment,
  awaited: () => void = nothing,
): Promise<Temporal> {
  const { say, stateDir, namespace, temporalUi: ui = null } = config;
  const native: NativeConnection[] = [];
  // The server's process is started before the modules of the client are loaded, because loading blocks this process for a third of a second.
  const embedded =
    config.temporalAddress === null
      ? await (await import('./temporal-server.js')).ensureTemporalServer({
          ...{ stateDir, env, say, namespace, ui, awaited },
        })
      : null;
  awaited();
  if (embedded && ui !== null)
    say(
      embedded.uiUrl === null
        ? 'The Temporal server is already running without its web UI. To start it with the web UI, end its commands and workers first.'
        : `Temporal's web UI: ${embedded.uiUrl}`,
    );
  const { checkNamespace, noConnection, openClient } = await import('./open-client.js');
  const address = embedded?.address ?? (config.temporalAddress as string);
  const report = setTimeout(() => say(`Waiting for an answer of the Temporal server at ${address} …`), REPORT_AFTER_MS);
  const opened = await openClient(config, env, address, '10s')
    .catch((error: unknown) => {
      if (error instanceof UsageError) throw error;
      throw noConnection(address, error, env.TEMPORAL_API_KEY);
    })
    .finally(() => clearTimeout(report));
  if (embedded === null)
    await checkNamespace(opened.client, namespace, address).catch(async (error: unknown) => {
      await opened.close();
      throw error;
    });
  return {
    client: opened.client,
    address,
    nativeConnection: async () => {
      // The module is loaded here, because loading takes half a second, and a client does not need the module.
      const { NativeConnection } = await import('@temporalio/worker');
      const made = await NativeConnection.connect(opened.options as Parameters<typeof NativeConnection.connect>[0]);
      native.push(made);
      return made;
    },
    close: async () => {
      await opened.close();
      // The connection of a worker that never ran cannot be closed.
      for (const made of native) await made.close().catch(() => undefined);
      await embedded?.detach();
    },
  };
}

/** A client of the configured server, or of the embedded server if that is running; null if no server answers. Starts no server. */
export async function connectIfRunning(
  config: RuntimeConfig,
  env: Environment,
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
