import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';
import { Secret } from '../../../dist/core/connections/secret.js';
import type { AlertSettings } from '../../../dist/worker/alerts/alert-setting.js';
import { type Alert, alertTypes } from '../../../src/core/alerts/alert.js';

/** A receiver for all tests of a file. The settings for it can be read once the file is loaded. */
export function alertsOfFile(changes: Partial<AlertSettings> = {}) {
  const alerts: Alert[] = [];
  const held = new Set<ServerResponse>();
  let isHanging = false;
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString('utf8');
    });
    request.on('end', () => {
      alerts.push(JSON.parse(body) as Alert);
      if (isHanging) held.add(response);
      else response.end();
    });
  }).listen(0, '127.0.0.1');
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const settings: AlertSettings = {
    get url() {
      return new Secret(url());
    },
    ...{ secret: null, command: null, on: alertTypes, lagMs: null, ...changes },
  };
  return {
    settings,
    /** The alerts that arrived, in their order. */
    alerts: (): readonly Alert[] => alerts,
    /** Whether requests get no answer. */
    hangs: (now: boolean) => {
      isHanging = now;
    },
  };
}
