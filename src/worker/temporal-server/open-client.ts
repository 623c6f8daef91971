import { Client, isGrpcServiceError } from '@temporalio/client';
import { CodedError } from '../../core/errors/coded-error.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import type { Environment } from '../config/variables.js';
import { dataConverterOf, forClient } from '../data-converter/data-converter.js';
import { connectClient, grpcCode, NOT_FOUND, onQueue } from './retries-until-close.js';

export type OpenedClient = Awaited<ReturnType<typeof openClient>>;

/** A client of this address, with Temporal's environment configuration if the server is not embedded. */
export async function openClient(
  config: RuntimeConfig,
  env: Environment,
  address: string,
  connectTimeout: '3s' | '10s',
) {
  const { temporalAddress, namespace } = config;
  const dataConverter = await dataConverterOf(config, true);
  const loaded =
    temporalAddress === null
      ? null
      : (await import('@temporalio/envconfig')).loadClientConnectConfig({ overrideEnvVars: definedOnly(env) });
  const options = { ...loaded?.connectionOptions, address };
  const { connection, close } = await connectClient({ ...options, connectTimeout });
  return {
    client: new Client({ connection, namespace, dataConverter: forClient(dataConverter) }),
    options,
    close,
  };
}

function definedOnly(env: Environment): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Codes of gRPC for a login that the server refuses: permission denied, unauthenticated. */
export const refusedCodes: readonly number[] = [7, 16];

/** The code of a failed call, and the server's own words, without the key. The code is null for other errors. */
export function refusalOf(
  error: unknown,
  apiKey: string | undefined,
): { readonly code: number | null; readonly reason: string } {
  const cause = error instanceof Error && isGrpcServiceError(error.cause) ? error.cause : null;
  const words = cause?.details || (error instanceof Error ? error.message : String(error));
  const reason = (apiKey ? words.replaceAll(apiKey, '…') : words).replace(/[\p{Cc}\s]+/gu, ' ').slice(0, 300);
  return { code: cause?.code ?? null, reason };
}

/** Why there is no connection. A refused login is a mistake in the settings; a server that does not answer may answer later. */
export function noConnection(address: string, error: unknown, apiKey: string | undefined): CodedError {
  const { code, reason } = refusalOf(error, apiKey);
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

const NAMESPACE_MS = 5000;

/** Throws `UsageError` if the server does not have the namespace. A login without the right to read namespaces is not refused here. */
export async function checkNamespace(client: Client, namespace: string, address: string): Promise<void> {
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

/** Longest wait for the newest workflow of a task queue. */
const READ_MS = 5000;

/**
 * Rejects with `UsageError` if this process cannot read the input of the newest workflow of the task queue, because it has another data
 * converter. Without this check, a job would be bought, and its result could not be read.
 */
export async function checkReadable({ connection, workflowService: service, options }: Client, taskQueue: string) {
  const { namespace, loadedDataConverter } = options;
  try {
    await connection.withDeadline(Date.now() + READ_MS, async () => {
      const { executions } = await service.listWorkflowExecutions({
        namespace,
        pageSize: 1,
        query: onQueue(taskQueue),
      });
      const execution = executions?.[0]?.execution;
      if (!execution?.workflowId) return;
      const { history } = await service.getWorkflowExecutionHistory({ namespace, execution, maximumPageSize: 1 });
      const started = history?.events?.[0]?.workflowExecutionStartedEventAttributes;
      const context = { type: 'workflow', namespace, workflowId: execution.workflowId } as const;
      let payloads = started?.input?.payloads ?? [];
      for (const codec of loadedDataConverter.payloadCodecs.toReversed())
        payloads = await codec.decode(payloads, context);
    });
  } catch (error) {
    // A server that does not list workflows has no part in this check.
    if (error instanceof UsageError) throw error;
  }
}

/** Retention of finished workflows. The default of the dev server is one day. */
const RETENTION_SECONDS = 7 * 24 * 3600;
const ALREADY_EXISTS = 6;

/** Makes sure that a Temporal server has the namespace, with its retention. Throws if it does not answer in time, or does not know it yet. */
export async function prepareNamespace(address: string, namespace: string, withinMs: number): Promise<void> {
  const { connection, close } = await connectClient({ address, connectTimeout: withinMs });
  try {
    await connection.withDeadline(Date.now() + withinMs, async () => {
      const service = connection.workflowService;
      const workflowExecutionRetentionPeriod = { seconds: RETENTION_SECONDS } as never;
      const found = await service.describeNamespace({ namespace }).catch((error: unknown) => {
        if (grpcCode(error) === NOT_FOUND) return null;
        throw error;
      });
      if (found === null) {
        await service.registerNamespace({ namespace, workflowExecutionRetentionPeriod }).catch((error: unknown) => {
          if (grpcCode(error) !== ALREADY_EXISTS) throw error;
        });
        // The check is repeated, because the server knows a new namespace only after a delay.
        throw new Error(`the namespace ${namespace} is being created`);
      }
      if (Number(found.config?.workflowExecutionRetentionTtl?.seconds ?? 0) < RETENTION_SECONDS) {
        const config = { workflowExecutionRetentionTtl: workflowExecutionRetentionPeriod };
        await service.updateNamespace({ namespace, config });
      }
    });
  } finally {
    await close();
  }
}
