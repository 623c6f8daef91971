import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { Secret } from '../../../src/core/connections/secret.js';
import { openWarehouses } from '../../../src/worker/store/warehouses.js';

/** First packet of a client that requests TLS, before its login. */
const SSL_REQUEST = '0000000804d2162f';

it.each(['other', 'dw?schema=else', 'dw'])(
  'a job that names %s on the server of the warehouse cannot lower its TLS',
  async (database) => {
    const first: string[] = [];
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', (data) => {
        first.push(data.toString('hex'));
        socket.end('N');
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const at = `postgres://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const warehouses = openWarehouses(
      {
        stateDir: '/nowhere',
        say: () => undefined,
        warehouse: { url: new Secret(`${at}/dw?sslmode=require`), shown: `${at}/dw?sslmode=require` },
      },
      false,
    );
    const into = `${at}/${database}${database.includes('?') ? '&' : '?'}sslmode=disable`;
    const { rows } = { rows: warehouses.of({ into } as Parameters<typeof warehouses.of>[0]) };
    await expect(rows.holdsAnswers()).rejects.toThrow();
    await warehouses.close();
    expect(new Set(first)).toEqual(new Set([SSL_REQUEST]));
  },
);
