import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

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

/** Longest wait for a server to accept a connection. */
const CONNECT_MS = 2000;

/** Whether the address accepts connections. Temporal's own client would retry for seconds. */
export async function takesConnections(address: string): Promise<boolean> {
  const { hostname, port } = new URL(`tcp://${address}`);
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 7233) });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
