import { appendFileSync, existsSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { IllegalStateError } from '@temporalio/common';
import { DefaultLogger, Runtime, type RuntimeOptions } from '@temporalio/worker';
import { makeFolder } from '../../files/make-folder.js';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { histogramBuckets } from './metrics.js';

const MAX_LOG_BYTES = 10_000_000;

/**
 * Installs the SDK's runtime, once per process and before any worker. Its log goes to a file, because the terminal shows the job's
 * progress; all metrics are served at `metricsAddress`, if set. Throws `UsageError` if that address cannot be used.
 */
export function installRuntime({ stateDir, metricsAddress }: Pick<RuntimeConfig, 'stateDir' | 'metricsAddress'>): void {
  const options: RuntimeOptions = {
    logger: fileLogger(stateDir),
    // The SDK must not handle signals: the command handles them itself.
    shutdownSignals: [],
    telemetryOptions: {
      logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } },
      ...(metricsAddress ? { metrics: prometheus(metricsAddress) } : {}),
    },
  };
  try {
    Runtime.install(options);
  } catch (error) {
    // This process already has a runtime. An earlier worker installed it, with the same log, or the program that embeds searchflow did.
    if (error instanceof IllegalStateError) return;
    if (!metricsAddress || !(error instanceof Error)) throw error;
    const reason = error.message.replace(/^.*exporter: /s, '');
    throw new UsageError(`SEARCHFLOW_METRICS: metrics cannot be served at ${metricsAddress}: ${reason}`, {
      cause: error,
    });
  }
}

function prometheus(address: string) {
  return {
    attachServiceName: false,
    prometheus: {
      // `localhost` is replaced, because the SDK accepts only an IP address.
      bindAddress: address.replace(/^localhost:/i, '127.0.0.1:'),
      countersTotalSuffix: true,
      histogramBucketOverrides: histogramBuckets,
    },
  };
}

function fileLogger(stateDir: string): DefaultLogger {
  makeFolder(stateDir);
  const path = join(stateDir, 'worker.log');
  if (existsSync(path) && statSync(path).size > MAX_LOG_BYTES) truncateSync(path);
  return new DefaultLogger('WARN', ({ level, timestampNanos, message, meta }) => {
    const at = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
    try {
      appendFileSync(path, `${at} ${level} ${message} ${meta ? safeJson(meta) : ''}\n`, { mode: 0o600 });
    } catch {
      // An error of the log file, such as a full disk, must not end the worker.
    }
  });
}

function safeJson(value: unknown): string {
  return JSON.stringify(value, (_name, item: unknown) =>
    typeof item === 'bigint' ? item.toString() : item instanceof Error ? `${item.name}: ${item.message}` : item,
  );
}
