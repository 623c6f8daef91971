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
   * Loses the next message of a client that contains `said`, or the answer to it, and breaks the connection. The answer is lost after the
   * server has sent it. Resolves when the connection has broken.
   */
  lose(said: string, what?: 'request' | 'answer'): Promise<void>;
  /**
   * While this is true, connections are accepted and no data passes in either direction. A connection that lost data meanwhile stays silent
   * for ever.
   */
  silent: boolean;
  close(): Promise<void>;
}

export async function startProxy(serverPort: number): Promise<PgProxy> {
  let losing: { readonly said: string; readonly what: 'request' | 'answer'; readonly done: () => void } | null = null;
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
    let lost: (() => void) | null = null;
    let mute = false;
    upstream.on('data', (data) => {
      mute ||= proxy.silent;
      if (mute) return;
      if (!lost) return client.write(data);
      end();
      lost();
    });
    let passing = Promise.resolve();
    client.on('data', (data: Buffer) => {
      if (losing && data.includes(losing.said)) {
        const { what, done } = losing;
        losing = null;
        lost = done;
        if (what === 'request') {
          end();
          return done();
        }
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
    lose: (said, what = 'answer') =>
      new Promise((done) => {
        losing = { said, what, done };
      }),
    close() {
      this.cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return proxy;
}
