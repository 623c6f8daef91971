import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { NativeConnection } from '@temporalio/worker';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { ensureTemporalServer, runningServer } from './temporal-server.js';

/** A server that is there takes a connection within this time. */
const REACH_MS = 2000;

/** A call that is repeated later than this is left behind when its connection closes. */
const LEFT_BEHIND_MS = 2000;

/** Repeats calls as the client does by default, until `stop`: a repeat on a closed connection would end the process. */
function retries() {
  const usual = defaultGrpcRetryOptions();
  let stopped = false;
  let nextAt = 0;
  const interceptor = makeGrpcRetryInterceptor({
    retryableDecider: (attempt, status) => !stopped && usual.retryableDecider(attempt, status),
    delayFunction: (attempt, status) => {
      const ms = usual.delayFunction(attempt, status);
      nextAt = Math.max(nextAt, performance.now() + ms);
      return ms;
    },
  });
  /** Closes the connection once no repeat waits; leaves it to the end of the process where one waits for longer. */
  const close = async (connection: Connection): Promise<void> => {
    stopped = true;
    const left = nextAt - performance.now();
    if (left > LEFT_BEHIND_MS) return;
    if (left > 0) await delay(left + 50);
    await connection.close();
  };
  return { interceptor, close };
}

/** A way to Temporal: a client, a worker's connection on demand, and the end of both. */
export interface Temporal {
  readonly client: Client;
  readonly address: string;
  nativeConnection(): Promise<NativeConnection>;
  close(): Promise<void>;
}

/** Connects to the address of the configuration, or to the embedded server, which is started where it does not run. */
export async function connectTemporal(
  config: RuntimeConfig,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Temporal> {
  const { say, stateDir, namespace, temporalUi: ui = null } = config;
  const embedded =
    config.temporalAddress === null ? await ensureTemporalServer({ stateDir, env, say, namespace, ui }) : null;
  if (embedded && ui !== null)
    say(
      embedded.uiUrl === null
        ? 'The Temporal server runs already, without its web UI; it starts with it once its commands and workers have ended.'
        : `Temporal's web UI: ${embedded.uiUrl}`,
    );
  const loaded = embedded ? null : loadClientConnectConfig({ overrideEnvVars: definedOnly(env) });
  const options = {
    ...(loaded?.connectionOptions ?? {}),
    address: embedded?.address ?? (config.temporalAddress as string),
  };
  const { interceptor, close } = retries();
  const connecting = Connection.connect({ ...options, connectTimeout: '10s', interceptors: [interceptor] });
  const connection = await connecting.catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`No Temporal server answers at ${options.address} (TEMPORAL_ADDRESS): ${reason}`);
  });
  const native: NativeConnection[] = [];
  return {
    client: new Client({ connection, namespace }),
    address: options.address,
    nativeConnection: async () => {
      // Half a second of loading that a client does without.
      const { NativeConnection } = await import('@temporalio/worker');
      const made = await NativeConnection.connect(options as Parameters<typeof NativeConnection.connect>[0]);
      native.push(made);
      return made;
    },
    close: async () => {
      await close(connection);
      for (const made of native) await made.close();
      await embedded?.detach();
    },
  };
}

/** A client of the server of the configuration, where that answers; starts none. */
export async function reachTemporal(
  config: RuntimeConfig,
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly client: Client; close(): Promise<void> } | null> {
  const address = config.temporalAddress ?? runningServer(config.stateDir);
  if (address === null || !(await takesConnections(address))) return null;
  const loaded =
    config.temporalAddress === null ? null : loadClientConnectConfig({ overrideEnvVars: definedOnly(env) });
  try {
    const { interceptor, close } = retries();
    const connection = await Connection.connect({
      ...loaded?.connectionOptions,
      ...{ address, connectTimeout: '3s', interceptors: [interceptor] },
    });
    return { client: new Client({ connection, namespace: config.namespace }), close: () => close(connection) };
  } catch {
    return null;
  }
}

/** A client of Temporal goes on trying for seconds where nothing listens. */
async function takesConnections(address: string): Promise<boolean> {
  const { hostname, port } = new URL(`tcp://${address}`);
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 7233) });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(REACH_MS) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

function definedOnly(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
