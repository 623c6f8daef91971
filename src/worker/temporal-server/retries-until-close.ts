import { setTimeout as delay } from 'node:timers/promises';
import {
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  isGrpcServiceError,
  makeGrpcRetryInterceptor,
  ServiceError,
} from '@temporalio/client';

/** Longest wait, on closing, for the next retry of a call. */
const RETRY_WAIT_MS = 2000;

interface RetriesUntilClose {
  /** For the `interceptors` of the connection. */
  readonly interceptor: NonNullable<ConnectionOptions['interceptors']>[number];
  /** Closes after the next retry of a call. If the next retry is more than two seconds away, the connection ends with the process. */
  close(close: () => Promise<void>): Promise<void>;
}

/**
 * Connects a client to Temporal, with retries as in {@link retriesUntilClose}. Like the connection of a worker, it never uses a proxy; by
 * default, gRPC would use that of `https_proxy` or `http_proxy`, even to this machine.
 */
export async function connectClient(
  options: ConnectionOptions,
): Promise<{ readonly connection: Connection; close(): Promise<void> }> {
  const retries = retriesUntilClose();
  const channelArgs = { ...options.channelArgs, 'grpc.enable_http_proxy': 0 };
  const connection = await Connection.connect({ ...options, channelArgs, interceptors: [retries.interceptor] });
  return { connection, close: () => retries.close(() => connection.close()) };
}

/**
 * Retries calls to Temporal as its client does by default, but not while the connection closes: a retry on a closed connection throws in a
 * timer of the client, and this error ends the process.
 */
export function retriesUntilClose(): RetriesUntilClose {
  const usual = defaultGrpcRetryOptions();
  let isClosing = false;
  let nextRetryAt = 0;
  return {
    interceptor: makeGrpcRetryInterceptor({
      retryableDecider: (attempt, status) => !isClosing && usual.retryableDecider(attempt, status),
      delayFunction: (attempt, status) => {
        const ms = usual.delayFunction(attempt, status);
        nextRetryAt = Math.max(nextRetryAt, performance.now() + ms);
        return ms;
      },
    }),
    close: async (close) => {
      isClosing = true;
      const left = nextRetryAt - performance.now();
      if (left > RETRY_WAIT_MS) return;
      if (left > 0) await delay(left + 50);
      await close();
    },
  };
}

/** The gRPC code of what a server does not have. */
export const NOT_FOUND = 5;

/** The gRPC status code of an error of the client, even if the error is wrapped; null for other errors. */
export function grpcCode(error: unknown): number | null {
  const status = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(status) ? (status.code as number) : null;
}

/** The condition of a list of workflows: those of a task queue. */
export const onQueue = (taskQueue: string): string => `TaskQueue = '${taskQueue.replaceAll("'", "''")}'`;
