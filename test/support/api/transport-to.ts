import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTransport, type Transport, type TransportOptions } from '../../../src/api/transport.js';

/** A transport to an HTTP server of its own on 127.0.0.1. */
export async function transportTo(
  listener: RequestListener,
  warn?: TransportOptions['warn'],
): Promise<{ transport: Transport; close(): Promise<void> }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const transport = createTransport({ baseUrl: `http://127.0.0.1:${port}`, apiKey: null, ...(warn && { warn }) });
  return {
    transport,
    async close() {
      await transport.close();
      server.close();
    },
  };
}
