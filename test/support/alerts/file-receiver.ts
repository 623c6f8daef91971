import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';
import { Secret } from '../../../dist/core/connections/secret.js';
import type { AlertSettings } from '../../../dist/worker/config/alert-setting.js';
import { type Alert, alertTypes } from '../../../src/core/alerts/alert.js';
import { type Answer, status } from './receiver.js';

/** A receiver for all tests of a file. The settings for it can be read once the file is loaded. */
export function alertsOfFile(changes: Partial<AlertSettings> = {}) {
  const alerts: Alert[] = [];
  let answer: Answer = status(200);
  const server = createServer((request, response: ServerResponse) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString('utf8');
    });
    request.on('end', () => {
      alerts.push(JSON.parse(body) as Alert);
      answer(response, alerts.length);
    });
  }).listen(0, '127.0.0.1');
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/?token=secret-of-the-hook`;
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
    /** Sets the answer to further alerts. */
    answers: (next: Answer) => {
      answer = next;
    },
  };
}
