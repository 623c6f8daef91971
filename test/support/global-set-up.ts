import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { startPostgres } from './postgres-server.mjs';
import { namespaceOf, startOwnTemporal } from './temporal.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** `host:port` of the run's Temporal server. Each test file has a namespace of its own there. */
    temporalAddress: string;
    /** Address of the run's PostgreSQL server, with its credentials. */
    postgresUrl: string;
    /** Path of a DuckDB warehouse that has its tables and no rows, to be copied. */
    emptyWarehouse: string;
  }
}

interface Servers {
  readonly temporalAddress: string;
  readonly postgresUrl: string;
  readonly emptyWarehouse: string;
  stop(): Promise<void>;
}

/** Set-ups of several projects of one run share the servers. They run in one process, each with modules of its own. */
const home = globalThis as { searchflowTestServers?: { servers: Promise<Servers> | null; users: number } };
home.searchflowTestServers ??= { servers: null, users: 0 };
const shared = home.searchflowTestServers;

/** Builds `dist`, and starts the PostgreSQL and the Temporal server that all files of the run share. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  shared.users++;
  shared.servers ??= start(project);
  const { temporalAddress, postgresUrl, emptyWarehouse, stop } = await shared.servers;
  project.provide('temporalAddress', temporalAddress);
  project.provide('postgresUrl', postgresUrl);
  project.provide('emptyWarehouse', emptyWarehouse);
  return async () => {
    if (--shared.users === 0) await stop();
  };
}

async function start({ vitest }: TestProject): Promise<Servers> {
  buildDist();
  const files = await vitest.globTestSpecifications();
  // Only files that use Temporal get a namespace: the server keeps workers of its own for each one.
  const usesTemporal = ({ moduleId }: { moduleId: string }) =>
    /openTemporal|fileNamespace/.test(readFileSync(moduleId, 'utf8'));
  const namespaces = files.filter(usesTemporal).map(({ moduleId }) => namespaceOf(moduleId));
  // To test another version of PostgreSQL, set this variable to its address; databases are created there and stay.
  const ownPostgres = process.env.TEST_POSTGRES_URL;
  const folder = mkdtempSync(join(tmpdir(), 'searchflow-tests-'));
  const emptyWarehouse = join(folder, 'empty.duckdb');
  const [postgres, temporal] = await Promise.all([
    ownPostgres === undefined ? startPostgres() : null,
    startOwnTemporal(
      // Workflows continue as new early, so that tests cover it.
      ['limit.historyCount.suggestContinueAsNew=200'],
      [...new Set(namespaces)].flatMap((name) => ['--namespace', name]),
    ),
    makeWarehouse(emptyWarehouse),
  ]);
  return {
    temporalAddress: temporal.address,
    postgresUrl: postgres?.urlOf('postgres') ?? (ownPostgres as string),
    emptyWarehouse,
    async stop() {
      rmSync(folder, { recursive: true });
      await Promise.all([postgres?.stop(), temporal.teardown()]);
    },
  };
}

/**
 * Builds `dist` where it is older than `src`, for tests that start real processes. After `npm test`'s own set-up there
 * is nothing to do. A failed build is only reported: a test of sources must not wait for the rest to compile.
 */
function buildDist(): void {
  const script = fileURLToPath(new URL('../../scripts/set-up.mjs', import.meta.url));
  const { status } = spawnSync(process.execPath, [script], { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) process.stderr.write('The build failed; tests of processes use the dist of before.\n');
}

/** Makes a DuckDB warehouse that has its tables only, in a process of its own, because this process may have loaded an older build. */
async function makeWarehouse(file: string): Promise<void> {
  const script = `const { Warehouse } = await import(process.argv[1]);
    const warehouse = Warehouse.at(process.argv[2]);
    await warehouse.use(() => undefined);
    await warehouse.close();`;
  const module = new URL('../../dist/warehouse/duckdb/open/warehouse.js', import.meta.url).href;
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, module, file]);
}
