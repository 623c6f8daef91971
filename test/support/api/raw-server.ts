import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type Client, type ClientOptions, createClient } from '../../../src/api/client.js';
import { createTransport, type TransportOptions } from '../../../src/api/transport.js';
import { Secret } from '../../../src/core/connections/secret.js';
import { closeAfterTest } from '../after-test.js';

/** A request exactly as the client sent it. */
export interface RawRequest {
  readonly head: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly path: string;
  readonly body: string;
}

export type Handler = (request: RawRequest, socket: Socket, nth: number) => void;

export interface RawServer {
  readonly url: string;
  readonly port: number;
  readonly requests: RawRequest[];
  readonly sockets: Set<Socket>;
  /** The number of connections that were made so far. */
  connections(): number;
  onConnection(handler: (socket: Socket) => void): void;
  /** Resolves when this many connections were made. */
  connected(count: number): Promise<void>;
  close(): Promise<void>;
}

/** A server that answers with any bytes that the test chooses. Listens on 127.0.0.1 only. */
export async function rawServer(handler: Handler, port = 0): Promise<RawServer> {
  const requests: RawRequest[] = [];
  const sockets = new Set<Socket>();
  const arrived = new EventEmitter();
  let connections = 0;
  const server: Server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    arrived.emit('connection');
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    let buffered = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      buffered = Buffer.concat([buffered, chunk]);
      for (;;) {
        const end = buffered.indexOf('\r\n\r\n');
        if (end < 0) return;
        const head = buffered.subarray(0, end).toString('latin1');
        const lines = head.split('\r\n');
        const headers = Object.fromEntries(
          lines.slice(1).map((line) => {
            const colon = line.indexOf(':');
            return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
          }),
        );
        const total = end + 4 + Number(headers['content-length'] ?? 0);
        if (buffered.length < total) return;
        const body = buffered.subarray(end + 4, total).toString('utf8');
        buffered = buffered.subarray(total);
        const request = { head, headers, path: lines[0]?.split(' ')[1] ?? '', body };
        requests.push(request);
        handler(request, socket, requests.length);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    requests,
    sockets,
    connections: () => connections,
    onConnection: (onSocket) => void server.on('connection', onSocket),
    async connected(count) {
      while (connections < count) await once(arrived, 'connection');
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** The bytes of an answer. Its Content-Length is correct unless the headers set another one. */
export function answer(status: number, body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Buffer {
  const bytes = Buffer.from(body);
  const all = { 'content-type': 'application/json', 'content-length': String(bytes.length), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} Whatever\r\n${lines.join('')}\r\n`), bytes]);
}

export const json = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Buffer =>
  answer(status, JSON.stringify(body), headers);

const KEY = 'canary-7f3a9c-key';

/** A client of a server that answers with `handler`. Both are closed after the test. */
export async function clientOf(handler: Handler, options: Partial<ClientOptions> = {}) {
  const server = await rawServer(handler);
  const client: Client = createClient({ apiKey: KEY, baseUrl: server.url, ...options });
  closeAfterTest(server, client);
  return { server, client };
}

/** A transport to a server that answers with `handler`. Both are closed after the test. */
export async function transportOf(handler: Handler, options: Partial<TransportOptions> = {}) {
  const server = await rawServer(handler);
  const transport = createTransport({ baseUrl: server.url, apiKey: new Secret(KEY), ...options });
  closeAfterTest(server, transport);
  return { server, transport };
}
