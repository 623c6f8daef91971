import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { findTemporalBinary } from '../dist/worker/temporal-server/binary.js';
import { freePort } from '../dist/worker/temporal-server/server-files.js';
import { sandboxProcess, startScript, watch, workFolder } from './measure.mjs';

/** The server counts some actions a moment later. */
const SETTLE_MS = 1000;

/** The host of a warehouse that is an address, for the worker's list of hosts. */
export const hostOf = (into) => (URL.canParse(into) ? [new URL(into).host] : []);

/** A backfill of a year of events, as a job of {@link pluginJob}. */
export function eventsOf(count, into = 'out.duckdb') {
  const [from, until] = ['2025-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'];
  return {
    sandbox: { events: { count, from, to: until, order: 'newest' } },
    hosts: hostOf(into),
    start: async () => ['backfillEvents', { into, from, until }],
  };
}

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

/**
 * Runs one job on a worker with the plugin, with a Temporal server and a sandbox of its own. `start` writes the job's files into the folder
 * and returns its workflow and input. Returns seconds, the actions by type, the worker's CPU seconds and peak memory (MB), and what `look`
 * returns for the ended job.
 */
export async function pluginJob({ sandbox: sandboxOptions, qps, hosts = [], start, look = async () => ({}) }) {
  const { dir, remove } = workFolder();
  const temporal = await startTemporal(dir);
  const sandbox = await sandboxProcess({ logEntries: 1000, ...sandboxOptions });
  const worker = await startScript('bench/plugin-worker.mjs', {
    address: temporal.address,
    url: sandbox.url,
    dir,
    qps,
    hosts,
  });
  const watched = watch(worker.pid);
  try {
    const [workflow, input] = await start(dir);
    await delay(SETTLE_MS);
    const [cpu, before] = [watched.seen.cpu, await temporal.actions()];
    const begun = performance.now();
    const options = { workflowId: 'bench', taskQueue: 'bench', args: [input] };
    const handle = await temporal.client.workflow.start(workflow, options);
    await handle.result();
    const seconds = (performance.now() - begun) / 1000;
    const found = await look(dir, temporal.client.workflow.getHandle(handle.workflowId));
    await delay(SETTLE_MS);
    const after = Object.entries(await temporal.actions());
    const actions = after.map(([type, count]) => [type, count - (before[type] ?? 0)]).filter(([, count]) => count > 0);
    return { seconds, actions, cpu: watched.seen.cpu - cpu, peakMb: watched.seen.peakMb, ...found };
  } finally {
    watched.stop();
    await worker.stop();
    await sandbox.stop();
    await temporal.stop();
    remove();
  }
}

/** The number of these actions. */
export const sumOf = (actions) => actions.reduce((sum, [, count]) => sum + count, 0);
