import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { freePort } from '../dist/worker/temporal-server/free-port.js';
import { findTemporalBinary } from '../dist/worker/temporal-server/temporal-binary.js';

/** A server with its own counter of actions. */
export async function startTemporal(dir) {
  const { path } = await findTemporalBinary({ env: process.env, say: () => undefined, stateDir: join(dir, 'state') });
  const [port, metrics] = [await freePort(), await freePort()];
  const args = ['server', 'start-dev', '--headless', '--port', port, '--metrics-port', metrics, '--log-level', 'error'];
  const child = spawn(path, args.map(String), { stdio: 'ignore' });
  const address = `127.0.0.1:${port}`;
  const connection = await Connection.connect({ address, connectTimeout: '20s' });
  const client = new Client({ connection });
  const answers = () =>
    client.workflow.count().then(
      () => true,
      () => false,
    );
  while (!(await answers())) await delay(100);
  /** The number of actions so far, by type. */
  const actions = async () => {
    const text = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
    const found = {};
    for (const [, labels, value] of text.matchAll(/^action\{([^}]*)\} (\S+)$/gm)) {
      if (/namespace="temporal[-_]system"/.test(labels)) continue;
      const type = /action_type="([^"]*)"/.exec(labels)?.[1] ?? '?';
      found[type] = (found[type] ?? 0) + Number(value);
    }
    return found;
  };
  const stop = async () => {
    await connection.close();
    child.kill();
  };
  return { address, client, actions, stop };
}
