import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { workflowInputs } from '../../../src/core/workflow-input-schemas.js';
import { ofFile } from '../../support/of-file.js';
import { packPackage } from '../../support/package/packed.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const { peerDependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
  readonly peerDependencies: Readonly<Record<string, string>>;
};
const sdk = Object.entries(peerDependencies).filter(([name]) => name.startsWith('@temporalio/'));
const packed = ofFile(packPackage);
const folder = mkdtempSync(join(tmpdir(), 'searchflow-versions-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }), 900_000);

/** A project with these packages. No package needs its install scripts. */
async function install(name: string, packages: readonly string[]) {
  const project = join(folder, name);
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages], {
    cwd: project,
  });
}

beforeAll(async () => {
  const platform = `${process.platform.replace('win32', 'win')}-${process.arch}`;
  await install(
    'nodes',
    [22, 24, 26].map((node) => `node-${node}@npm:node-${platform}@${node}`),
  );
  await install('newest', [packed.tarball]);
  await install('oldest', [packed.tarball, ...sdk.map(([name, range]) => `${name}@${range.replace('^', '')}`)]);
}, 900_000);

it.each([
  [22, 'newest'],
  [24, 'newest'],
  [26, 'newest'],
  [22, 'oldest'],
])('the installed package runs on Node %i with the %s Temporal SDK: entries, workflows, command', (node, version) => {
  const project = join(folder, version, `node-${node}`);
  mkdirSync(project);
  copyFileSync(`${root}test/long/package/jobs.mjs`, join(project, 'jobs.mjs'));
  const env = { ...process.env, TEMPORAL_ADDRESS: inject('temporalAddress'), SEARCHFLOW_TASK_QUEUE: project };
  const binary = join(folder, 'nodes', 'node_modules', `node-${node}`, 'bin', 'node');
  const run = (...args: readonly string[]) =>
    execFileSync(binary, args, { cwd: project, env, encoding: 'utf8', stdio: 'pipe' });
  const results = JSON.parse(run('jobs.mjs').trim().split('\n').at(-1) as string) as Record<string, object>;
  expect(Object.entries(results).filter(([, result]) => 'error' in result)).toEqual([]);
  // The worker itself starts this workflow.
  expect([...Object.keys(results), 'deliverAlert'].sort()).toEqual(Object.keys(workflowInputs).sort());
  expect(results).toMatchObject({
    enrichCsv: { result: { phase: 'done', warehouse: { success: 2 } } },
    syncEvents: { result: { phase: 'done', added: 1000 } },
    batchMonitors: { result: { phase: 'done', affected: 1 } },
  });
  const command = join(folder, version, 'node_modules', 'searchflow', 'dist', 'bin', 'searchflow.js');
  expect(run(command, '--help')).toContain('searchflow enrich');
  run(command, 'enrich', 'rows.csv', '--url-column', 'url', '--csv', 'out/command.csv');
  expect(readFileSync(join(project, 'out', 'command.csv'), 'utf8')).toMatch(/^name,url,.*\nAcme,[\s\S]*\nBeta,/);
});
