import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

/** Opens connections, and keeps some connections open before requests need them. */
export interface WarmConnector {
  readonly connect: buildConnector.connector;
  /** Opens connections until `count` are ready. A failure is not reported here; the call that needs a connection reports the failure. */
  warm(count: number): Promise<void>;
  close(): void;
}

/** The longest time that an unused connection is kept, in ms: servers close idle connections after about 5 s. */
const IDLE_MS = 4000;

/** Events on an unused connection after which the connection must not be used. */
const signs = ['end', 'close', 'error', 'readable'] as const;

/**
 * undici opens a connection when a request needs one, so the first requests of a job would start late by a handshake, and the limiter
 * would count these requests as late. This connector opens sockets in advance and hands open sockets to undici.
 */
export function createWarmConnector(base: URL, timeoutMs: number): WarmConnector {
  const connect = buildConnector({ timeout: timeoutMs });
  const target = {
    hostname: base.hostname.replace(/^\[|\]$/g, ''),
    host: base.host,
    protocol: base.protocol,
    port: base.port,
  };
  const ready: { readonly socket: Socket; readonly release: () => void }[] = [];
  let closed = false;

  const park = (socket: Socket): void => {
    if (closed) return void socket.destroy();
    const release = (): void => {
      clearTimeout(timer);
      for (const event of signs) socket.off(event, drop);
    };
    const drop = (): void => {
      const index = ready.findIndex((entry) => entry.socket === socket);
      if (index >= 0) ready.splice(index, 1);
      release();
      socket.destroy();
    };
    const timer = setTimeout(drop, IDLE_MS).unref();
    for (const event of signs) socket.on(event, drop);
    ready.push({ socket, release });
  };

  return {
    connect(options, callback) {
      const entry = ready.shift();
      if (!entry) return connect(options, callback);
      entry.release();
      // undici stalls when a connector calls back before the connector has returned.
      queueMicrotask(() => callback(null, entry.socket));
    },
    async warm(count) {
      const open = Math.max(0, count - ready.length);
      const one = (): Promise<void> =>
        new Promise((resolve) => {
          connect({ ...target }, (error, socket) => {
            if (!error && socket) park(socket);
            resolve();
          });
        });
      await Promise.all(Array.from({ length: open }, one));
    },
    close() {
      closed = true;
      for (const { socket } of ready.splice(0)) socket.destroy();
    },
  };
}
