import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { UsageError } from '../config/runtime-types.js';

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

type Reply = (status: number, text: string) => void;

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
