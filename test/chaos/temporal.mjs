// A Temporal server that can be killed like any process and started again on the same data and port.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findTemporalBinary } from '../../dist/worker/temporal-server/binary.js';
import { freePort } from '../support/postgres-server.mjs';

export async function startTemporal(dir) {
  mkdirSync(dir, { recursive: true });
  const { path } = await findTemporalBinary({ env: process.env, say: () => undefined });
  const port = await freePort();
  let child;
  let ended;
  const server = {
    address: `127.0.0.1:${port}`,
    async start() {
      const args = ['server', 'start-dev', '--headless', '--ip', '127.0.0.1', '--port', String(port)];
      // The server hands tasks to a stopped worker as long as that worker's last poll is open; this setting makes that time short.
      const setting = ['--dynamic-config-value', 'matching.longPollExpirationInterval="2s"'];
      child = spawn(path, [...args, '--db-filename', join(dir, 'temporal.db'), '--log-level', 'never', ...setting], {
        stdio: 'ignore',
      });
      ended = new Promise((resolve) => child.once('close', resolve));
      while (!(await answers(port))) await delay(100);
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    stop: () => server.kill(),
  };
  await server.start();
  return server;
}

function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
