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

/** A server that is there takes a connection within this time. */
const CONNECT_MS = 2000;

/** A call that is repeated later than this is left behind when its connection closes. */
const LEFT_BEHIND_MS = 2000;

interface OpenedClient {
  readonly client: Client;
  /** What it was opened with, for a worker's connection. */
  readonly options: ConnectionOptions & { readonly address: string };
  /** Closes it once no repeated call waits; where one waits for longer, the end of the process does. */
  close(): Promise<void>;
}

/**
 * A client of this address, with what the environment says of a server that is not embedded. It repeats calls as by default, but for
 * a connection that closes: a repeat on a closed one would end the process.
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
  let nextRepeatAt = 0;
  const interceptor = makeGrpcRetryInterceptor({
    retryableDecider: (attempt, status) => !isClosing && usual.retryableDecider(attempt, status),
    delayFunction: (attempt, status) => {
      const ms = usual.delayFunction(attempt, status);
      nextRepeatAt = Math.max(nextRepeatAt, performance.now() + ms);
      return ms;
    },
  });
  const connection = await Connection.connect({ ...options, connectTimeout, interceptors: [interceptor] });
  return {
    client: new Client({ connection, namespace }),
    options,
    close: async () => {
      isClosing = true;
      const left = nextRepeatAt - performance.now();
      if (left > LEFT_BEHIND_MS) return;
      if (left > 0) await delay(left + 50);
      await connection.close();
    },
  };
}

/** A way to Temporal: a client, a worker's connection on demand, and the end of both. */
export interface Temporal {
  readonly client: Client;
  readonly address: string;
  nativeConnection(): Promise<NativeConnection>;
  close(): Promise<void>;
}

/** Connects to the address of the configuration, or to the embedded server, which is started where it does not run. */
export async function connectTemporal(config: RuntimeConfig, env: Environment): Promise<Temporal> {
  const { say, stateDir, namespace, temporalUi: ui = null } = config;
  const embedded =
    config.temporalAddress === null ? await ensureTemporalServer({ stateDir, env, say, namespace, ui }) : null;
  if (embedded && ui !== null)
    say(
      embedded.uiUrl === null
        ? 'The Temporal server runs already, without its web UI; it starts with it once its commands and workers have ended.'
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
      // Half a second of loading that a client does without.
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

/** A client of the server of the configuration, where that answers; starts none. */
export async function connectIfRunning(
  config: RuntimeConfig,
  env: Environment,
): Promise<Pick<OpenedClient, 'client' | 'close'> | null> {
  const address = config.temporalAddress ?? runningServer(config.stateDir);
  if (address === null || !(await takesConnections(address))) return null;
  return openClient(config, env, address, '3s').catch(() => null);
}

/** A client of Temporal goes on trying for seconds where nothing listens. */
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
