import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection } from '@temporalio/worker';
import { type RuntimeConfig, UsageError } from './runtime-types.js';
import { ensureTemporalServer } from './temporal-server.js';

/** A way to Temporal: a client, a worker's connection on demand, and the end of both. */
export interface Temporal {
  readonly client: Client;
  readonly address: string;
  readonly uiUrl: string | null;
  nativeConnection(): Promise<NativeConnection>;
  close(): Promise<void>;
}

/** Connects to the address of the configuration, or to the embedded server, which is started where it does not run. */
export async function connectTemporal(
  config: RuntimeConfig,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Temporal> {
  const { say, stateDir, namespace } = config;
  const embedded =
    config.temporalAddress === null ? await ensureTemporalServer({ stateDir, env, say, namespace }) : null;
  const loaded = embedded ? null : loadClientConnectConfig({ overrideEnvVars: definedOnly(env) });
  const options = {
    ...(loaded?.connectionOptions ?? {}),
    address: embedded?.address ?? (config.temporalAddress as string),
  };
  const connection = await Connection.connect({ ...options, connectTimeout: '10s' }).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`No Temporal server answers at ${options.address} (TEMPORAL_ADDRESS): ${reason}`);
  });
  const native: NativeConnection[] = [];
  return {
    client: new Client({ connection, namespace }),
    address: options.address,
    uiUrl: embedded?.uiUrl ?? null,
    nativeConnection: async () => {
      const made = await NativeConnection.connect(options as Parameters<typeof NativeConnection.connect>[0]);
      native.push(made);
      return made;
    },
    close: async () => {
      await connection.close();
      for (const made of native) await made.close();
      await embedded?.detach();
    },
  };
}

function definedOnly(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
