import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A free port of 127.0.0.1, `wanted` if that port is free. Another process may take the port before the caller uses it. */
export async function freePort(wanted = 0): Promise<number> {
  const server = createServer();
  server.listen(wanted, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (wanted === 0) throw error;
    return freePort();
  }
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
