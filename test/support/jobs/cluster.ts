import { join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import pg from 'pg';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/index.js';
import { type Running, startCommand } from '../cli/command.js';
import { type PostgresServer, startPostgres } from '../postgres-server.mjs';
import { Folder, type InputRow } from './folder.js';

/** Worker processes, each in a folder of its own. They share one PostgreSQL as store and warehouse, one Temporal server and one service. */
export interface Cluster {
  readonly folder: Folder;
  readonly sandbox: Sandbox;
  readonly postgres: PostgresServer;
  /** Address of the warehouse, with its password. */
  readonly warehouse: string;
  /** The output of all processes. */
  said(): string;
  /** Starts `searchflow …args` with the state folder of this machine, as if the process ran on a machine of its own. */
  start(machine: string, args: readonly string[]): Running;
  /** The result of an SQL statement on the warehouse. */
  query<Row>(sql: string): Promise<Row[]>;
  close(): Promise<void>;
}

export interface ClusterOptions {
  readonly rows: readonly InputRow[];
  readonly sandbox?: Partial<SandboxOptions>;
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Starts a proxy between the processes and PostgreSQL. Returns a function that changes the address of a database to that of the proxy.
   */
  readonly between?: (postgres: PostgresServer) => Promise<(url: string) => string>;
}

export async function startCluster(temporal: TestWorkflowEnvironment, options: ClusterOptions): Promise<Cluster> {
  const folder = new Folder();
  folder.write(options.rows);
  const sandbox = await startSandbox({ failureRate: 0, textBytes: 100, ...options.sandbox });
  const postgres = await startPostgres();
  const warehouse = await postgres.database('warehouse');
  const by = (await options.between?.(postgres)) ?? ((url: string) => url);
  const env = {
    SEARCHFLOW_API_KEY: 'key-of-the-cluster',
    SEARCHFLOW_BASE_URL: sandbox.url,
    SEARCHFLOW_STORE: by(await postgres.database('store')),
    SEARCHFLOW_WAREHOUSE_URL: by(warehouse),
    SEARCHFLOW_TASK_QUEUE: folder.dir,
    SEARCHFLOW_QPS: '100',
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace as string,
    XDG_STATE_HOME: folder.dir,
    ...options.env,
  };
  const started: Running[] = [];
  return {
    folder,
    sandbox,
    postgres,
    warehouse,
    said: () => started.map((one) => one.out() + one.err()).join('\n'),
    start(machine, args) {
      const stateDir = join(folder.dir, `state-${machine}`);
      const running = startCommand(args, { cwd: folder.dir, env: { ...env, SEARCHFLOW_STATE_DIR: stateDir } });
      started.push(running);
      return running;
    },
    async query<Row>(sql: string) {
      const client = new pg.Client({ connectionString: warehouse });
      await client.connect();
      try {
        return (
          ((await client.query(`SET search_path = searchflow; ${sql}`)) as unknown as { rows: Row[] }[])[1]?.rows ?? []
        );
      } finally {
        await client.end();
      }
    },
    async close() {
      for (const { child } of started) child.kill('SIGKILL');
      await Promise.all(started.map(({ ended }) => ended));
      await sandbox.close();
      await postgres.stop();
      folder.remove();
    },
  };
}

/** Resolves when this many requests have reached the service; rejects when the process ends before. */
export async function sent(cluster: Cluster, requests: number, by: Running): Promise<void> {
  const until = Date.now() + 40_000;
  let ended = false;
  void by.ended.then(() => {
    ended = true;
  });
  while (cluster.sandbox.log().length < requests) {
    if (ended || Date.now() > until) throw new Error(`only ${cluster.sandbox.log().length} requests: ${by.err()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
