import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Alert } from '../../../src/core/alerts/alert.js';

/** A webhook as it arrived. */
export interface Arrived {
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
  readonly alert: Alert;
}

export type Answer = (response: ServerResponse, nth: number) => void;

export const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) => {
    response.writeHead(code, headers).end('{"answer":"not read"}');
  };

export const silence: Answer = () => undefined;

/** A receiver of webhooks. `close` and `open` take it down and up again, at the same address. */
export async function startReceiver(first: Answer = status(200)) {
  const arrived: Arrived[] = [];
  let answer = first;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      arrived.push({ body, headers: request.headers, alert: JSON.parse(body) as Alert });
      answer(response, arrived.length);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  return {
    url: `http://127.0.0.1:${port}/hook?token=secret-of-the-hook`,
    arrived,
    types: () => arrived.map(({ alert }) => alert.type),
    answers: (next: Answer) => {
      answer = next;
    },
    close,
    open: async () => {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
  };
}
