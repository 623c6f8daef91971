import { createServer } from 'node:net';

/** A port of this machine on which no program listens. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((up) => server.listen(0, '127.0.0.1', up));
  const { port } = server.address() as { readonly port: number };
  await new Promise((closed) => server.close(closed));
  return port;
}
