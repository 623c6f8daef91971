import { Client, Connection, type ConnectionOptions, isGrpcServiceError } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import { CodedError } from '../../core/errors/coded-error.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { dataConverterOf, forClient } from '../data-converter/data-converter.js';
import { retriesUntilClose } from './retries-until-close.js';

type Environment = Readonly<Record<string, string | undefined>>;

export interface OpenedClient {
  readonly client: Client;
  /** The options of the client's connection, for a worker's connection. */
  readonly options: ConnectionOptions & { readonly address: string };
  /** The data converter of the settings, for a worker; null: Temporal's own. */
  readonly dataConverter: DataConverter | null;
  /** Closes the connection, see `retriesUntilClose`. */
  close(): Promise<void>;
}

/** A client of this address, with Temporal's environment configuration if the server is not embedded. */
export async function openClient(
  config: RuntimeConfig,
  env: Environment,
  address: string,
  connectTimeout: '3s' | '10s',
): Promise<OpenedClient> {
  const { temporalAddress, namespace } = config;
  const dataConverter = await dataConverterOf(config);
  const loaded =
    temporalAddress === null
      ? null
      : (await import('@temporalio/envconfig')).loadClientConnectConfig({ overrideEnvVars: definedOnly(env) });
  const options = { ...loaded?.connectionOptions, address };
  const retries = retriesUntilClose();
  const connection = await Connection.connect({ ...options, connectTimeout, interceptors: [retries.interceptor] });
  return {
    client: new Client({ connection, namespace, dataConverter: forClient(dataConverter) }),
    dataConverter,
    options,
    close: () => retries.close(() => connection.close()),
  };
}

/** Time in ms after which a wait for a Temporal server is reported. */
const REPORT_AFTER_MS = 5000;

/** A connection to Temporal: a client, and a worker's connection on demand. */
export interface Temporal {
  readonly client: Client;
  readonly address: string;
  /** See `OpenedClient`. */
  readonly dataConverter: DataConverter | null;
  nativeConnection(): Promise<NativeConnection>;
  close(): Promise<void>;
}

/** The server of a runtime. */
export interface ServerAccess {
  /** Connects to the server, which is started if needed. */
  connect(): Promise<Temporal>;
  /** Connects, and resolves once nothing is left but the wait for an answer of the server, or once the connection has failed. */
  awaitAnswer(): Promise<void>;
}

/**
 * Connects to the configured address, or to the embedded server, which is started if needed. Throws `UsageError` if no server answers.
 * `awaited`: called once nothing is left but the wait for an answer of the server.
 */
export async function connectTemporal(
  config: RuntimeConfig,
  env: Environment,
  awaited: () => void = () => undefined,
): Promise<Temporal> {
  const { say, stateDir, namespace, temporalUi: ui = null } = config;
  // The module is loaded here, because a command that only queries a running server does not install or start a server.
  const { ensureTemporalServer } = await import('./temporal-server.js');
  const embedded =
    config.temporalAddress === null ? await ensureTemporalServer({ stateDir, env, say, namespace, ui, awaited }) : null;
  awaited();
  if (embedded && ui !== null)
    say(
      embedded.uiUrl === null
        ? 'The Temporal server is already running without its web UI. To start it with the web UI, end its commands and workers first.'
        : `Temporal's web UI: ${embedded.uiUrl}`,
    );
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
  const native: NativeConnection[] = [];
  return {
    client: opened.client,
    dataConverter: opened.dataConverter,
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

function definedOnly(env: Environment): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Codes of gRPC for a login that the server refuses: permission denied, unauthenticated. */
export const refusedCodes: readonly number[] = [7, 16];

/** The code of a failed call, and the server's own words, without the key. The code is null for other errors. */
export function reasonOf(
  error: unknown,
  apiKey: string | undefined,
): { readonly code: number | null; readonly reason: string } {
  const cause = error instanceof Error && isGrpcServiceError(error.cause) ? error.cause : null;
  const words = cause?.details || (error instanceof Error ? error.message : String(error));
  const reason = (apiKey ? words.replaceAll(apiKey, '…') : words).replace(/[\p{Cc}\s]+/gu, ' ').slice(0, 300);
  return { code: cause?.code ?? null, reason };
}

/** Why there is no connection. A refused login is a mistake in the settings; a server that does not answer may answer later. */
function noConnection(address: string, error: unknown, apiKey: string | undefined): CodedError {
  const { code, reason } = reasonOf(error, apiKey);
  if (code === null || !refusedCodes.includes(code))
    return new CodedError(
      'temporal-unreachable',
      `No Temporal server answers at ${address} (TEMPORAL_ADDRESS): ${reason}`,
    );
  return new UsageError(
    'temporal-unreachable',
    `The Temporal server at ${address} (TEMPORAL_ADDRESS) refuses the login: ${reason} ` +
      'Check TEMPORAL_API_KEY, TEMPORAL_NAMESPACE and the client certificate (TEMPORAL_TLS_CLIENT_CERT_PATH).',
  );
}

/** Code of gRPC for a missing object. */
const NOT_FOUND = 5;
const NAMESPACE_MS = 5000;

/** Throws `UsageError` if the server does not have the namespace. A login without the right to read namespaces is not refused here. */
async function checkNamespace(client: Client, namespace: string, address: string): Promise<void> {
  try {
    await client.connection.withDeadline(Date.now() + NAMESPACE_MS, () =>
      client.workflowService.describeNamespace({ namespace }),
    );
  } catch (error) {
    if (!isGrpcServiceError(error) || error.code !== NOT_FOUND) return;
    throw new UsageError(
      'temporal-namespace-missing',
      `Temporal at ${address} has no namespace ${namespace}. Correct TEMPORAL_NAMESPACE, or create the namespace.`,
    );
  }
}
