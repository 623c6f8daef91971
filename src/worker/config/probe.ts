import { connect as connectTcp } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';

/** Opens and closes a connection, with TLS unless its options are null. Returns the code or message of its failure, or null. `timeout` in ms. */
export function probe(
  { host: name, ...to }: { readonly host: string; readonly port: number; readonly timeout: number },
  tls: ConnectionOptions | null,
): Promise<string | null> {
  const host = name.replace(/^\[|\]$/g, '');
  const servername = tls?.servername ?? (/^[\d.:]+$/.test(host) ? undefined : host);
  return new Promise((resolve) => {
    const end = (problem: string | null) => {
      socket.destroy();
      resolve(problem);
    };
    const socket = tls === null ? connectTcp({ ...to, host }) : connectTls({ ...to, host, ...tls, servername });
    socket.once(tls === null ? 'connect' : 'secureConnect', () => end(null));
    socket.once('timeout', () => end('ETIMEDOUT'));
    socket.once('end', () => end('the server ended the connection'));
    socket.once('error', (error: NodeJS.ErrnoException & { readonly errors?: readonly NodeJS.ErrnoException[] }) => {
      const { code, message } = error.errors?.[0] ?? error;
      end(code ?? message);
    });
  });
}

/** Whether an address accepts connections. Temporal's own client would retry for seconds. */
export async function takesConnections(address: string): Promise<boolean> {
  const { hostname: host, port } = new URL(`tcp://${address}`);
  return (await probe({ host, port: Number(port || 7233), timeout: 2000 }, null)) === null;
}
