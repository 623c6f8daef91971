import { setTimeout as delay } from 'node:timers/promises';
import { takesConnections } from './free-port.js';
import { connectClient, grpcCode } from './retries-until-close.js';

/** Retention of finished workflows. The default of the dev server is one day. */
const RETENTION_SECONDS = 7 * 24 * 3600;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;

/** Arguments of {@link awaitServer}. */
export interface HealthCheck {
  /** Host and port of the server. */
  readonly address: string;
  readonly namespace: string;
  readonly withinMs: number;
  /** Returns why the server's process has ended; null while the process is running. After the end of the process the check stops. */
  readonly gone: () => string | null;
}

/**
 * Waits until a Temporal server answers and has the namespace, which is created if it is missing. Returns null on success, else the
 * reason in words.
 */
export async function awaitServer({ address, namespace, withinMs, gone }: HealthCheck): Promise<string | null> {
  const until = performance.now() + withinMs;
  let reason = `no answer at ${address}`;
  while (performance.now() < until && gone() === null) {
    // A plain socket is tried first: it needs a millisecond, and gRPC waits a second after a refused connection.
    if (await takesConnections(address)) {
      try {
        return await prepareNamespace(address, namespace, until);
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
      }
    }
    await delay(20);
  }
  return gone() ?? `${reason} within ${Math.round(withinMs / 1000)} s`;
}

async function prepareNamespace(address: string, namespace: string, until: number): Promise<null> {
  const left = Math.max(1, until - performance.now());
  const { connection, close } = await connectClient({ address, connectTimeout: left });
  try {
    await connection.withDeadline(Date.now() + left, async () => {
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
    return null;
  } finally {
    await close();
  }
}
