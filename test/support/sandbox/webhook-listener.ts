import { createServer } from 'node:http';
import { listen } from './listen.js';

/** A delivery of a webhook as it arrived. */
export interface Received {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly raw: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read deliveries of many shapes.
  readonly json: any;
}

export interface Listener {
  readonly url: string;
  readonly received: Received[];
  close(): void;
}

/** Starts a server that receives deliveries of webhooks. It answers with the `statuses` one after the other, then with 200. */
export async function startListener(statuses: number[] = []): Promise<Listener> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks).toString();
    received.push({ headers: request.headers, raw, json: JSON.parse(raw) });
    response.writeHead(statuses.shift() ?? 200).end();
  });
  const url = await listen(server);
  return { url, received, close: () => void server.close() };
}
