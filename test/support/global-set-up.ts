import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
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
    /** Path of the bundle of `worker/team-workflows.ts`. */
    teamWorkflows: string;
  }
}

interface Servers {
  readonly temporalAddress: string;
  readonly postgresUrl: string;
  readonly emptyWarehouse: string;
  readonly teamWorkflows: string;
  stop(): Promise<void>;
}

/**
 * The projects of a run share the servers. Their set-ups run in one process, but load modules separately, so the servers are kept in a
 * global variable.
 */
const home = globalThis as { searchflowTestServers?: { servers: Promise<Servers> | null; users: number } };
home.searchflowTestServers ??= { servers: null, users: 0 };
const shared = home.searchflowTestServers;

/** Builds `dist`, and starts PostgreSQL and the Temporal server, which all files of the run share. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  shared.users++;
  shared.servers ??= start(project);
  const { temporalAddress, postgresUrl, emptyWarehouse, teamWorkflows, stop } = await shared.servers;
  project.provide('temporalAddress', temporalAddress);
  project.provide('postgresUrl', postgresUrl);
  project.provide('emptyWarehouse', emptyWarehouse);
  project.provide('teamWorkflows', teamWorkflows);
  return async () => {
    if (--shared.users === 0) await stop();
  };
}

async function start({ vitest }: TestProject): Promise<Servers> {
  buildDist();
  const files = await vitest.globTestSpecifications();
  // Only files that use Temporal get a namespace, because the server runs internal workers for each namespace.
  const usesTemporal = ({ moduleId }: { moduleId: string }) =>
    /openTemporal|temporalOfFile|fileNamespace|runExample|settingOfFile/.test(readFileSync(moduleId, 'utf8'));
  const namespaces = files.filter(usesTemporal).map(({ moduleId }) => namespaceOf(moduleId));
  // This variable may name a server of another version of PostgreSQL. The databases that the tests create there are not deleted.
  const ownPostgres = process.env.TEST_POSTGRES_URL;
  const folder = mkdtempSync(join(tmpdir(), 'searchflow-tests-'));
  const emptyWarehouse = join(folder, 'empty.duckdb');
  const teamWorkflows = join(folder, 'workflows.js');
  const usesBundle = files.some(({ moduleId }) => readFileSync(moduleId, 'utf8').includes("'teamWorkflows'"));
  const [postgres, temporal] = await Promise.all([
    ownPostgres === undefined ? startPostgres() : null,
    startOwnTemporal(
      // With this setting workflows continue as new early, so that the tests cover it.
      ['limit.historyCount.suggestContinueAsNew=200'],
      [...new Set(namespaces)].flatMap((name) => ['--namespace', name]),
    ),
    makeWarehouse(emptyWarehouse),
    usesBundle ? bundleWorkflows(teamWorkflows) : null,
  ]);
  return {
    temporalAddress: temporal.address,
    postgresUrl: postgres?.urlOf('postgres') ?? (ownPostgres as string),
    emptyWarehouse,
    teamWorkflows,
    async stop() {
      rmSync(folder, { recursive: true });
      await Promise.all([postgres?.stop(), temporal.teardown()]);
    },
  };
}

/**
 * Builds `dist` if it is older than `src`, for tests that start real processes. The set-up of `npm test` has already done this. If the
 * build fails, that is only reported, so that tests of single sources still run.
 */
function buildDist(): void {
  const script = fileURLToPath(new URL('../../scripts/set-up.mjs', import.meta.url));
  const { status } = spawnSync(process.execPath, [script], { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) process.stderr.write('The build failed; tests of processes use the dist of before.\n');
}

/** Makes a DuckDB warehouse without rows. It runs in a process of its own, because this process may have loaded an older build. */
async function makeWarehouse(file: string): Promise<void> {
  const script = `const { Warehouse } = await import(process.argv[1]);
    const warehouse = Warehouse.at(process.argv[2]);
    await warehouse.use(() => undefined);
    await warehouse.close();`;
  const module = new URL('../../dist/warehouse/duckdb/warehouse.js', import.meta.url).href;
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, module, file]);
}

/** Writes the bundle that workers of tests run: making it takes seconds of the processor. */
async function bundleWorkflows(file: string): Promise<void> {
  const workflowsPath = fileURLToPath(new URL('worker/team-workflows.ts', import.meta.url));
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
  writeFileSync(file, code);
}
