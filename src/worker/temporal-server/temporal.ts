import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  Client,
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { NativeConnection } from '@temporalio/worker';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { ensureTemporalServer, runningServer } from './temporal-server.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Longest wait for a server to accept a connection. */
const CONNECT_MS = 2000;

/** Longest wait, on closing, for the next retry of a call. */
const RETRY_WAIT_MS = 2000;

interface OpenedClient {
  readonly client: Client;
  /** The options of its connection, for a worker's connection. */
  readonly options: ConnectionOptions & { readonly address: string };
  /** Closes it after the next retry of a call. If that is too far in the future, the connection ends with the process. */
  close(): Promise<void>;
}

/**
 * A client of this address, with Temporal's environment configuration if the server is not embedded. Calls are retried as by default, but
 * not while the connection closes, because a retry on a closed connection would end the process.
 */
async function openClient(
  { temporalAddress, namespace }: Pick<RuntimeConfig, 'temporalAddress' | 'namespace'>,
  env: Environment,
  address: string,
  connectTimeout: '3s' | '10s',
): Promise<OpenedClient> {
  const loaded = temporalAddress === null ? null : loadClientConnectConfig({ overrideEnvVars: definedOnly(env) });
  const options = { ...loaded?.connectionOptions, address };
  const usual = defaultGrpcRetryOptions();
  let isClosing = false;
  let nextRetryAt = 0;
  const interceptor = makeGrpcRetryInterceptor({
    retryableDecider: (attempt, status) => !isClosing && usual.retryableDecider(attempt, status),
    delayFunction: (attempt, status) => {
      const ms = usual.delayFunction(attempt, status);
      nextRetryAt = Math.max(nextRetryAt, performance.now() + ms);
      return ms;
    },
  });
  const connection = await Connection.connect({ ...options, connectTimeout, interceptors: [interceptor] });
  return {
    client: new Client({ connection, namespace }),
    options,
    close: async () => {
      isClosing = true;
      const left = nextRetryAt - performance.now();
      if (left > RETRY_WAIT_MS) return;
      if (left > 0) await delay(left + 50);
      await connection.close();
    },
  };
}

/** A connection to Temporal: a client, and a worker's connection on demand. */
export interface Temporal {
  readonly client: Client;
  readonly address: string;
  nativeConnection(): Promise<NativeConnection>;
  close(): Promise<void>;
}

/** Connects to the configured address, or to the embedded server, which is started if needed. Throws `UsageError` if no server answers. */
export async function connectTemporal(config: RuntimeConfig, env: Environment): Promise<Temporal> {
  const { say, stateDir, namespace, temporalUi: ui = null } = config;
  const embedded =
    config.temporalAddress === null ? await ensureTemporalServer({ stateDir, env, say, namespace, ui }) : null;
  if (embedded && ui !== null)
    say(
      embedded.uiUrl === null
        ? 'The Temporal server is already running without its web UI. To start it with the web UI, end its commands and workers first.'
        : `Temporal's web UI: ${embedded.uiUrl}`,
    );
  const address = embedded?.address ?? (config.temporalAddress as string);
  const opened = await openClient(config, env, address, '10s').catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`No Temporal server answers at ${address} (TEMPORAL_ADDRESS): ${reason}`);
  });
  const native: NativeConnection[] = [];
  return {
    client: opened.client,
    address,
    nativeConnection: async () => {
      // Loading takes half a second, which a client can save.
      const { NativeConnection } = await import('@temporalio/worker');
      const made = await NativeConnection.connect(opened.options as Parameters<typeof NativeConnection.connect>[0]);
      native.push(made);
      return made;
    },
    close: async () => {
      await opened.close();
      for (const made of native) await made.close();
      await embedded?.detach();
    },
  };
}

/** A client of the configured or running embedded server; null if it does not answer. Starts no server. */
export async function connectIfRunning(
  config: RuntimeConfig,
  env: Environment,
): Promise<Pick<OpenedClient, 'client' | 'close'> | null> {
  const address = config.temporalAddress ?? runningServer(config.stateDir);
  if (address === null || !(await takesConnections(address))) return null;
  return openClient(config, env, address, '3s').catch(() => null);
}

/** Whether the address accepts connections. Temporal's own client would retry for seconds. */
async function takesConnections(address: string): Promise<boolean> {
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

function definedOnly(env: Environment): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
