import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.js';
import { isLong } from '../../support/tier.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const example = (...path: string[]) => join(root, 'examples', ...path);

/** The examples with a worker, and the file that starts each worker. A TypeScript file is started as tsx starts it. */
const workers = { 'own-worker': 'worker.ts', 'own-worker-cjs': 'worker.cjs' };
const runsTypeScript = join(root, 'test', 'support', 'package', 'run-typescript.mjs');

/** Examples with tests of their own. */
const others = [
  ...['sinks', 'kubernetes', 'notebook', 'postgres-nightly'],
  ...['agent-runs', 'chain', 'company-list', 'events-duckdb', 'events-postgres', 'monitors'],
  ...['python-client', 'go-client', 'dbt', 'events-dbt', 'agent-contracts', 'enrich-rows', 'agent-search'],
];

/** The processes that this file started, to end them if a test fails. */
const children: ChildProcess[] = [];

const rows = Array.from({ length: 40 }, (_, row) => `"Brand, ${row}",https://brands.example/${row}`);

let folder: string;
let sandbox: Sandbox;

function start(script: string, args: readonly string[], cwd: string): ChildProcess {
  const child = spawn(process.execPath, ['--import', runsTypeScript, script, ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: cwd,
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      SEARCHFLOW_API_KEY: 'key-of-the-example',
      SEARCHFLOW_BASE_URL: sandbox.url,
    },
  });
  children.push(child);
  return child;
}

/** The output of a process until it ends. */
async function output(child: ChildProcess): Promise<{ readonly out: string; readonly log: string }> {
  const said = { out: '', log: '' };
  child.stdout?.on('data', (chunk: Buffer) => {
    said.out += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    said.log += chunk.toString();
  });
  await once(child, 'close');
  return said;
}

it('every example is run by a test', () => {
  const folders = readdirSync(example(), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map(({ name }) => name).sort()).toEqual([...Object.keys(workers), ...others].sort());
});

it('docs/tasks/own-workflow.md shows the worker of the example', () => {
  const [, shown] =
    /```ts\n\/\/ worker\.ts\n([\s\S]*?)```/.exec(
      readFileSync(join(root, 'docs', 'tasks', 'own-workflow.md'), 'utf8'),
    ) ?? [];
  expect(shown).toBe(readFileSync(example('own-worker', 'worker.ts'), 'utf8'));
});

describe.runIf(isLong)('examples', () => {
  beforeAll(async () => {
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', example('own-worker')], {
      stdio: ['ignore', 2, 2],
    });
    folder = mkdtempSync(join(tmpdir(), 'searchflow-examples-'));
    sandbox = await startSandbox({ keys: ['key-of-the-example'], failureRate: 0 });
  }, 600_000);

  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    await sandbox?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(['own-worker', 'own-worker-cjs'] as const)(
    '%s enriches a file for the example client, and ends with exit code 0',
    async (name) => {
      const cwd = mkdtempSync(join(folder, 'run-'));
      writeFileSync(join(cwd, 'brands.csv'), `name,source\n${rows.join('\n')}\n`);
      sandbox.reset();
      const worker = start(example(name, workers[name]), [], cwd);
      const client = start(example('own-worker/lib/client.js'), ['brands.csv', 'source'], cwd);
      const workerEnded = output(worker);
      // If the worker ends, the client would wait for ever.
      worker.once('exit', () => client.kill());
      const { out, log } = await output(client);
      worker.kill('SIGTERM');
      const workerSaid = await workerEnded;
      const [, summary] = /^Started enrich-brands\n([\s\S]*)$/.exec(out) ?? [];
      expect(JSON.parse(summary ?? 'null'), `${log}${workerSaid.log}`).toMatchObject({
        phase: 'done',
        warehouse: { rows: 40, success: 40 },
      });
      const enriched = readFileSync(join(cwd, 'out', 'own-worker.csv'), 'utf8').split('\n');
      expect(enriched[0]).toMatch(/^name,source,/);
      expect(enriched.filter((line) => line.startsWith('"Brand, '))).toHaveLength(40);
      expect(Object.values(sandbox.bill().keys)).toEqual(rows.map(() => 1));
      expect(worker.exitCode).toBe(0);
      // The log also has no warning about workflows that no client started, such as one of the worker itself.
      expect(workerSaid.log).not.toMatch(/\[(WARN|ERROR)\]|Failed to initialize/);
      // A pause prints a command with the name of the job, so the job list must have the workflow id that the client chose.
      const jobs = join(cwd, '.searchflow', 'jobs');
      const entries = readdirSync(jobs).map((file) => JSON.parse(readFileSync(join(jobs, file), 'utf8')) as unknown);
      expect(entries).toMatchObject([{ workflowId: 'enrich-brands', staged: { operation: 'contents' } }]);
    },
  );
});
