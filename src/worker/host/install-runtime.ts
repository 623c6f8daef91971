import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { IllegalStateError } from '@temporalio/common';
import { DefaultLogger, Runtime, type RuntimeOptions } from '@temporalio/worker';
import { jobOfWorkflow } from '../../core/rows/job-ids.js';
import { makeFolder } from '../../files/make-folder.js';
import type { Log, RuntimeConfig } from '../config/runtime-types.js';
import { freePort } from '../temporal-server/free-port.js';
import { histogramBuckets } from './metrics.js';

const MAX_LOG_BYTES = 10_000_000;

/** Port of this machine at which the SDK of this process serves its metrics; null: none. */
let exporter: number | null = null;
export const exporterPort = (): number | null => exporter;

/**
 * Installs the SDK's runtime, once per process and before any worker. Its log goes to a file, because the terminal shows the job's
 * progress, or to the log of the configuration. With `otlpMetrics` the SDK sends all metrics by OTLP, else
 * with `metricsAddress` it serves them at {@link exporterPort}.
 */
export async function installRuntime({
  stateDir,
  metricsAddress,
  otlpMetrics = null,
  log,
}: Pick<RuntimeConfig, 'stateDir' | 'metricsAddress' | 'otlpMetrics' | 'log'>): Promise<void> {
  const port = metricsAddress && otlpMetrics === null ? await freePort() : null;
  const options: RuntimeOptions = {
    logger: log ? lineLogger(log) : fileLogger(stateDir),
    // The SDK must not handle signals: the command handles them itself.
    shutdownSignals: [],
    telemetryOptions: {
      logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } },
      metrics: otlpMetrics
        ? { ...shared, otel: { ...otlpMetrics, ...histograms } }
        : port === null
          ? undefined
          : prometheus(port),
    },
  };
  try {
    Runtime.install(options);
    exporter = port;
  } catch (error) {
    // This process already has a runtime. An earlier worker installed it, with the same log, or the program that embeds searchflow did.
    if (!(error instanceof IllegalStateError)) throw error;
  }
}

const shared = { attachServiceName: false };
const histograms = { histogramBucketOverrides: histogramBuckets };

function prometheus(port: number) {
  return { ...shared, prometheus: { bindAddress: `127.0.0.1:${port}`, countersTotalSuffix: true, ...histograms } };
}

/** The SDK's warnings and errors in a file, which begins again when it is full. */
export function fileLogger(stateDir: string, maxBytes = MAX_LOG_BYTES): DefaultLogger {
  makeFolder(stateDir);
  const path = join(stateDir, 'worker.log');
  let size = existsSync(path) ? statSync(path).size : 0;
  return new DefaultLogger('WARN', ({ level, timestampNanos, message, meta }) => {
    const at = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
    const line = `${at} ${level} ${message} ${meta ? safeJson(meta) : ''}\n`;
    try {
      const isFull = size > maxBytes;
      size = (isFull ? 0 : size) + Buffer.byteLength(line);
      writeFileSync(path, line, { mode: 0o600, flag: isFull ? 'w' : 'a' });
    } catch {
      // An error of the log file, such as a full disk, must not end the worker.
    }
  });
}

/** The SDK's warnings and errors as lines of a log. */
function lineLogger(log: Log): DefaultLogger {
  return new DefaultLogger('WARN', ({ level, message, meta }) => {
    const fields = JSON.parse(safeJson(meta ?? {})) as Readonly<Record<string, unknown>>;
    const { workflowId } = fields;
    const job = typeof workflowId === 'string' ? jobOfWorkflow(workflowId) : undefined;
    log({ job, ...fields, level, message });
  });
}

function safeJson(value: unknown): string {
  return JSON.stringify(value, (_name, item: unknown) =>
    typeof item === 'bigint' ? item.toString() : item instanceof Error ? `${item.name}: ${item.message}` : item,
  );
}
