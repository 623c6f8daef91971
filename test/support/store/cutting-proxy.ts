import { connect, createServer, type Socket } from 'node:net';

/** A proxy to a database. On request it loses one message: a request on its way to the database, or an answer on its way back. */
export interface CuttingProxy {
  /** The address of a database through the proxy. */
  through(url: string): string;
  /** Loses the next request that contains this text, or the answer to it, and cuts the connection. Resolves after the cut. */
  cut(what: 'request' | 'answer', containing: string): Promise<void>;
  close(): Promise<void>;
}

export async function startCuttingProxy(port: number): Promise<CuttingProxy> {
  let armed: { readonly what: 'request' | 'answer'; readonly text: string; readonly done: () => void } | null = null;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    let losing = false;
    const cut = (done?: () => void) => {
      near.destroy();
      far.destroy();
      done?.();
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => cut());
      socket.on('close', () => {
        sockets.delete(socket);
        cut();
      });
    }
    near.on('data', (data) => {
      const hit = armed?.text !== undefined && data.includes(armed.text) ? armed : null;
      if (hit) armed = null;
      if (hit?.what === 'request') return cut(hit.done);
      if (hit) {
        losing = true;
        // The server has committed when it answers, so the cut comes after the commit.
        far.once('data', () => cut(hit.done));
      }
      far.write(data);
    });
    far.on('data', (data) => {
      if (!losing) near.write(data);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address() as { readonly port: number };
  return {
    through(url) {
      const via = new URL(url);
      via.port = String(address.port);
      return via.href;
    },
    cut: (what, text) =>
      new Promise((done) => {
        armed = { what, text, done };
      }),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
