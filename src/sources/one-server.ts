import { lookup } from 'node:dns';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect, type LookupFunction } from 'node:net';
import { isMetadata } from '../core/connections/metadata-address.js';

/** Refuses a name that leads to one of these addresses. */
export const withoutMetadata: LookupFunction = (name, options, callback) =>
  lookup(name, options, (error, found, family) => {
    const addresses = typeof found === 'string' ? [found] : (found ?? []).map(({ address }) => address);
    if (error === null && addresses.some(isMetadata)) callback(new Error(`${name} is a metadata address`), '');
    else callback(error, found, family);
  });

/** A proxy on this machine that leads to one server. */
export interface OneServer {
  /** `host:port` of the proxy. */
  readonly address: string;
  /** The other server that was asked for last; null: none. */
  other(): string | null;
  close(): void;
}

/**
 * Opens a proxy that refuses every server but those that `isMeant` names, with their ports. DuckDB's extension follows redirects, and would send
 * the keys of a bucket to any server that the first one names.
 */
export async function openOneServer(isMeant: (server: string) => boolean): Promise<OneServer> {
  let other: string | null = null;
  const isRefused = (server: string, hostname: string) => {
    if (isMeant(server.toLowerCase()) && !isMetadata(hostname)) return false;
    other = server;
    return true;
  };
  const proxy = createServer((asked, answer) => {
    const url = URL.canParse(asked.url ?? '') ? new URL(asked.url as string) : null;
    if (url === null || isRefused(`${url.hostname}:${url.port || 80}`, url.hostname))
      return void answer.writeHead(403).end();
    const { method, headers } = asked;
    const forwarded = request(url, { method, headers, lookup: withoutMetadata }, (found) => {
      answer.writeHead(found.statusCode ?? 502, found.headers);
      found.pipe(answer);
    });
    forwarded.on('error', () => answer.destroy());
    asked.pipe(forwarded);
  });
  proxy.on('connect', ({ url = '' }, socket, head) => {
    const { hostname, port } = URL.canParse(`http://${url}`) ? new URL(`http://${url}`) : { hostname: '', port: '' };
    if (isRefused(url, hostname)) return void socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    const to = { host: bare(hostname), port: Number(port || 80), lookup: withoutMetadata };
    const server = connect(to, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      server.write(head);
      server.pipe(socket).pipe(server);
    });
    server.on('error', () => socket.destroy());
    socket.on('error', () => server.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  proxy.unref();
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    other: () => other,
    close() {
      proxy.close();
      proxy.closeAllConnections();
    },
  };
}

/** A host without the brackets of an IPv6 address. */
const bare = (hostname: string) => hostname.replace(/^\[|\]$/g, '');
