import { connectClient, grpcCode } from './retries-until-close.js';

/** Retention of finished workflows. The default of the dev server is one day. */
const RETENTION_SECONDS = 7 * 24 * 3600;
const NOT_FOUND = 5;
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
