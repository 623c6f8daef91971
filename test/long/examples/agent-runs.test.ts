import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { startSandbox } from '../../../src/sandbox/index.js';
import { ofFile } from '../../support/of-file.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const example = (...path: string[]) => join(root, 'examples', 'agent-runs', ...path);

let folder: string;
const sandbox = ofFile(() => startSandbox({ agentRuns: { budgetRate: 0 } }));
const children: ChildProcess[] = [];

beforeAll(async () => {
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', example()], {
    stdio: ['ignore', 2, 2],
  });
  folder = mkdtempSync(join(tmpdir(), 'searchflow-examples-'));
}, 600_000);

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function start(...args: string[]): ChildProcess {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      SEARCHFLOW_API_KEY: 'key-of-the-example',
      SEARCHFLOW_BASE_URL: sandbox.url,
    },
  });
  children.push(child);
  return child;
}

it('examples/agent-runs returns structured output that fits the schema, and continues from that run in a chain', async () => {
  const worker = start(example('lib', 'worker.js'));
  const client = start(example('lib', 'client.js'), 'Acme');
  const log = text(worker.stderr as NodeJS.ReadableStream);
  // If the worker ends, the client would wait for ever.
  worker.once('exit', () => client.kill());
  const out = await text(client.stdout as NodeJS.ReadableStream);
  worker.kill('SIGTERM');
  await once(worker, 'exit');
  expect(out, await log).toMatch(/^Acme makes .+ since .+ \(completed, \$0\.025\)\.\n {2}https:\/\//);
  const brief = JSON.parse(out.slice(out.indexOf('{\n')));
  expect(brief).toMatchObject({
    facts: { product: expect.any(String) },
    outlook: expect.any(String),
    costDollars: 0.05,
  });
  const starts = sandbox.log().filter(({ method, path }) => method === 'POST' && path === '/agent/runs');
  expect(starts).toHaveLength(2);
});
