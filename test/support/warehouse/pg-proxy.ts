import { createServer, type Server, type Socket, connect as tcpConnect } from 'node:net';

/** Called with each message of a client. The message is passed on to the server if the result is true or resolves to true. */
type Gate = (data: Buffer) => boolean | Promise<boolean>;

/** A proxy to a PostgreSQL server. A test can act before or after any statement. */
export interface PgProxy {
  /** The address of the server through the proxy. */
  urlOf(url: string): string;
  gate: Gate;
  /** Cuts every connection; no further data reaches client or server. */
  cut(): void;
  /**
   * Loses one answer. The next message of a client that contains `said` reaches the server; its answer does not reach the client, and the
   * connection breaks.
   */
  lose(said: string): void;
  /**
   * While this is true, connections are accepted and no data passes in either direction. A connection that lost data meanwhile stays silent
   * for ever.
   */
  silent: boolean;
  close(): Promise<void>;
}

export async function startProxy(serverPort: number): Promise<PgProxy> {
  let losing: string | null = null;
  const pairs = new Set<[Socket, Socket]>();
  const server: Server = createServer((client) => {
    const upstream = tcpConnect(serverPort, '127.0.0.1');
    const pair: [Socket, Socket] = [client, upstream];
    pairs.add(pair);
    const end = () => {
      client.destroy();
      upstream.destroy();
      pairs.delete(pair);
    };
    for (const socket of pair) socket.on('error', end).on('close', end).setNoDelay(true);
    let lost = false;
    let mute = false;
    upstream.on('data', (data) => {
      mute ||= proxy.silent;
      if (mute) return;
      if (lost) end();
      else client.write(data);
    });
    let passing = Promise.resolve();
    client.on('data', (data: Buffer) => {
      if (losing !== null && data.includes(losing)) {
        losing = null;
        lost = true;
      }
      passing = passing.then(async () => {
        mute ||= proxy.silent;
        if (mute) return;
        if ((await proxy.gate(data)) && upstream.writable) upstream.write(data);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const proxy: PgProxy = {
    gate: () => true,
    silent: false,
    urlOf(url) {
      const address = new URL(url);
      address.port = String(port);
      return address.href;
    },
    cut() {
      for (const pair of pairs) for (const socket of pair) socket.destroy();
    },
    lose(said) {
      losing = said;
    },
    close() {
      this.cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return proxy;
}
