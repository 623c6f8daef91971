import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type DataConverter, IllegalStateError } from '@temporalio/common';
import {
  type ActivityInterceptorsFactory,
  DefaultLogger,
  type NativeConnection,
  Runtime,
  type RuntimeOptions,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import type { AllActivities } from '../../activities/index.js';
import { ENCRYPTS_FAILURES } from '../../core/processes/encrypted-failures.js';
import { jobOfWorkflow } from '../../core/rows/job-ids.js';
import { makeFolder } from '../../files/make-folder.js';
import { inPackage } from '../../files/package-root.js';
import { type Log, type RuntimeConfig, UsageError } from '../config/runtime-types.js';
import { failureConverterPath } from '../data-converter/data-converter.js';
import { identityOf, recordId } from '../store/team.js';
import type { Pollers } from '../temporal-server/pollers.js';
import { freePort } from '../temporal-server/server-files.js';
import { histogramBuckets } from './metrics.js';
import { deploymentOptions, workerDefaults, workflowSinks } from './worker-options.js';

/**
 * The workflow code: the bundle from build time if it was made with the installed SDK; else the sources, which are bundled in seconds when
 * the worker starts. A bundle contains a part of the SDK and needs a worker of the same version. A data converter with converters of its
 * own, other than codecs, becomes a part of the bundle.
 */
export function workflowSource(
  dataConverter: DataConverter | null = null,
): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  const { payloadConverterPath, failureConverterPath: path } = dataConverter ?? {};
  const bundle = inPackage('dist', 'worker', 'workflow-bundle.js');
  const madeWith = inPackage('dist', 'worker', 'workflow-bundle.sdk');
  const { version } = createRequire(import.meta.url)('@temporalio/worker/package.json') as { readonly version: string };
  const encrypts = path === failureConverterPath;
  const isOwn = payloadConverterPath === undefined && (path === undefined || encrypts);
  if (!isOwn || !existsSync(madeWith) || readFileSync(madeWith, 'utf8') !== version)
    return { workflowsPath: inPackage('dist', 'workflows', 'index.js') };
  // The failure converter of the bundle reads this variable, see `workflows/failure-converter`.
  if (encrypts)
    return { workflowBundle: { code: `globalThis.${ENCRYPTS_FAILURES}=true;${readFileSync(bundle, 'utf8')}` } };
  return { workflowBundle: { codePath: bundle } };
}

/** A running worker; `stop` drains it. */
export type RunningWorker = ReturnType<typeof runWorker>;

/** Parts of a worker that not every worker has. */
export interface WorkerParts {
  readonly dataConverter: DataConverter | null;
  /** Its version; null: an unversioned worker. */
  readonly deployment: RuntimeConfig['deployment'];
  readonly watch: ActivityInterceptorsFactory | null;
  readonly pollers: Pollers;
}

/** Creates a worker, which polls nothing before it runs. */
export function createWorker(
  config: RuntimeConfig,
  connection: NativeConnection,
  activities: AllActivities,
  { dataConverter, deployment, watch, pollers }: WorkerParts,
): Promise<Worker> {
  const whenAdmitted: ActivityInterceptorsFactory = () => ({
    inbound: {
      execute: async (input, next) => {
        await pollers.admitted;
        return next(input);
      },
    },
  });
  return Worker.create({
    ...workerDefaults,
    ...workflowSource(dataConverter),
    dataConverter: dataConverter ?? undefined,
    workerDeploymentOptions: deployment ? deploymentOptions(deployment) : undefined,
    connection,
    namespace: config.namespace,
    taskQueue: config.taskQueue,
    identity: identityOf(recordId(config)),
    activities,
    sinks: workflowSinks,
    interceptors: { activity: watch ? [whenAdmitted, watch] : [whenAdmitted] },
  });
}

/** Runs a worker, unless or until one of its pollers has another record. */
export function runWorker(worker: Worker, pollers: Pollers) {
  const ended = pollers.run(worker, () => worker.run());
  // The failure is reported to callers that await `ended`. Without such a caller, the failure must not be an unhandled rejection.
  ended.catch(() => undefined);
  return {
    /** Resolves when the worker has stopped; rejects if it failed. */
    ended,
    isRunning: () => worker.getState() === 'RUNNING',
    stop: async () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await ended;
    },
  };
}

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

/** How long the SDK may take to return its metrics, in ms. */
const METRICS_MS = 5000;
const MOST_CONNECTIONS = 100;

export interface StatusServer {
  close(): Promise<void>;
}

/** The address of the status belongs to another process. */
export class AddressInUse extends UsageError {}

export interface StatusSources {
  /** Why the worker takes no work; null if it takes work. */
  whyNotReady(): string | null;
  /** Port of this machine at which the SDK serves its metrics; null: none. */
  exporterPort(): number | null;
}

/**
 * Serves the status of a worker at `address` (`host:port`): `/metrics` for Prometheus, `/healthz` as long as the process answers,
 * `/readyz` while the worker takes work. Throws `UsageError` if the address cannot be used, `AddressInUse` if another process uses it.
 */
export async function serveStatus(address: string, sources: StatusSources): Promise<StatusServer> {
  const server = createServer({ requestTimeout: METRICS_MS, keepAliveTimeout: METRICS_MS }, (request, response) =>
    answer(request, response, sources),
  );
  server.maxConnections = MOST_CONNECTIONS;
  const at = address.lastIndexOf(':');
  // `localhost` may be only an IPv6 address, which a scraper of 127.0.0.1 does not reach.
  const host = address
    .slice(0, at)
    .replace(/^localhost$/i, '127.0.0.1')
    .replace(/^\[|\]$/g, '');
  server.listen({ host, port: Number(address.slice(at + 1)) });
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isInUse = code === 'EADDRINUSE';
    const why = `SEARCHFLOW_METRICS: metrics cannot be served at ${address}: ${isInUse ? 'Address already in use' : message}`;
    throw isInUse
      ? new AddressInUse('port-in-use', why, { cause: error })
      : new UsageError('setting-invalid', why, { cause: error });
  }
  // Probes must not keep a process alive that has nothing left to do.
  server.unref();
  return {
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

export type Reply = (status: number, text: string) => void;

function answer({ method, url = '' }: IncomingMessage, response: ServerResponse, sources: StatusSources): void {
  const reply: Reply = (status, text) => {
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
  };
  const [path] = url.split('?');
  if (method !== 'GET' && method !== 'HEAD') reply(405, 'only GET');
  else if (path === '/metrics') passMetrics(response, sources.exporterPort(), reply);
  else if (path === '/healthz') reply(200, 'ok');
  else if (path === '/readyz') {
    const why = sources.whyNotReady();
    reply(why === null ? 200 : 503, why ?? 'ready');
  } else reply(404, 'paths: /metrics, /healthz, /readyz');
}

/** Passes on the metrics of the SDK, which serves them at an address of its own and has no other paths. */
function passMetrics(response: ServerResponse, port: number | null, reply: Reply): void {
  if (port === null) {
    reply(503, 'the metrics are not available yet, are sent by OTLP, or belong to the Temporal runtime of the program');
    return;
  }
  const request = get({ host: '127.0.0.1', port, path: '/metrics', timeout: METRICS_MS }, (found) => {
    response.writeHead(found.statusCode ?? 502, { 'content-type': found.headers['content-type'] ?? 'text/plain' });
    found.pipe(response);
  });
  request.on('timeout', () => request.destroy());
  request.on('error', () => {
    if (response.headersSent) response.destroy();
    else reply(502, 'the SDK does not return its metrics');
  });
}
