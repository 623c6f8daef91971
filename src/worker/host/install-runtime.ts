import { appendFileSync, existsSync, mkdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { IllegalStateError } from '@temporalio/common';
import { DefaultLogger, Runtime, type RuntimeOptions } from '@temporalio/worker';
import { type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { histogramBuckets } from './metrics.js';

const MAX_LOG_BYTES = 10_000_000;

/**
 * Sets the SDK up, once a process and before any worker: its log goes to a file (a person's terminal is for the progress of the
 * job), its metrics and ours to where Prometheus finds them, if anywhere. Throws `UsageError` where that address can't be used.
 */
export function installRuntime({ stateDir, metricsAddress }: Pick<RuntimeConfig, 'stateDir' | 'metricsAddress'>): void {
  const options: RuntimeOptions = {
    logger: fileLogger(stateDir),
    // Signals are the command's: it drains, and says what it does.
    shutdownSignals: [],
    telemetryOptions: {
      logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } },
      ...(metricsAddress ? { metrics: prometheus(metricsAddress) } : {}),
    },
  };
  try {
    Runtime.install(options);
  } catch (error) {
    // This process has a runtime already: an earlier worker's, with the same log, or its owner's, with theirs.
    if (error instanceof IllegalStateError) return;
    if (!metricsAddress || !(error instanceof Error)) throw error;
    const reason = error.message.replace(/^.*exporter: /s, '');
    throw new UsageError(`SEARCHFLOW_METRICS: no metrics can be shown at ${metricsAddress}: ${reason}`, {
      cause: error,
    });
  }
}

function prometheus(address: string) {
  return {
    attachServiceName: false,
    prometheus: {
      // The SDK wants the number.
      bindAddress: address.replace(/^localhost:/i, '127.0.0.1:'),
      countersTotalSuffix: true,
      histogramBucketOverrides: histogramBuckets,
    },
  };
}

function fileLogger(stateDir: string): DefaultLogger {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const path = join(stateDir, 'worker.log');
  if (existsSync(path) && statSync(path).size > MAX_LOG_BYTES) truncateSync(path);
  return new DefaultLogger('WARN', ({ level, timestampNanos, message, meta }) => {
    const at = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
    appendFileSync(path, `${at} ${level} ${message} ${meta ? safeJson(meta) : ''}\n`, { mode: 0o600 });
  });
}

function safeJson(value: unknown): string {
  return JSON.stringify(value, (_name, item: unknown) =>
    typeof item === 'bigint' ? item.toString() : item instanceof Error ? `${item.name}: ${item.message}` : item,
  );
}
