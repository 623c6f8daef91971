import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { workflowInputs } from '../../../src/core/workflow-input-schemas.js';
import { ofFile } from '../../support/of-file.js';
import { packPackage } from '../../support/package/packed.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const { peerDependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
  readonly peerDependencies: Readonly<Record<string, string>>;
};
const names = Object.keys(peerDependencies);
const [oldest] = new Set(Object.values(peerDependencies).map((range) => range.replace(/^\^/, '')));

const packed = ofFile(packPackage);
const projects: string[] = [];
afterAll(() => {
  for (const project of projects) rmSync(project, { recursive: true, force: true });
});

/** A project with the packed package and one version of the SDK. */
function install(version: string): string {
  const project = mkdtempSync(join(tmpdir(), `searchflow-sdk-${version}-`));
  projects.push(project);
  execFileSync('npm', ['init', '-y'], { cwd: project, stdio: 'ignore' });
  execFileSync('npm', ['pkg', 'set', 'type=module'], { cwd: project, stdio: 'ignore' });
  const sdk = names.map((name) => `${name}@${version}`);
  execFileSync('npm', ['install', '--no-audit', '--no-fund', packed.tarball, ...sdk], { cwd: project, stdio: 'pipe' });
  copyFileSync(`${root}test/deep/sdk/jobs.mjs`, join(project, 'jobs.mjs'));
  return project;
}

describe.each([oldest as string, 'latest'])('Temporal SDK %s', (version) => {
  let project: string;
  let env: NodeJS.ProcessEnv;
  beforeAll(() => {
    project = install(version);
    env = { ...process.env, TEMPORAL_ADDRESS: inject('temporalAddress'), SEARCHFLOW_TASK_QUEUE: project };
    const { version: installed } = JSON.parse(
      readFileSync(join(project, 'node_modules/@temporalio/worker/package.json'), 'utf8'),
    ) as { readonly version: string };
    console.log(`Temporal SDK ${version}: ${installed}`);
  }, 600_000);

  it('runs every workflow in a worker of its own', () => {
    const { stdout, stderr } = spawnSync(process.execPath, ['jobs.mjs'], { cwd: project, env, encoding: 'utf8' });
    const results = JSON.parse(stdout.trim().split('\n').at(-1) || 'null') as Record<string, object> | null;
    expect(results, stderr).not.toBeNull();
    const errors = Object.entries(results ?? {}).filter(([, result]) => 'error' in result);
    expect(errors).toEqual([]);
    // The worker itself starts this workflow.
    const others = Object.keys(workflowInputs).filter((name) => name !== 'deliverAlert');
    expect(Object.keys(results ?? {}).sort()).toEqual(others.sort());
    expect(results).toMatchObject({
      enrichCsv: { result: { phase: 'done', warehouse: { success: 2 } } },
      syncEvents: { result: { phase: 'done', added: 1000 } },
      batchMonitors: { result: { phase: 'done', affected: 1 } },
    });
  });

  it('runs the command', () => {
    const bin = join(project, 'node_modules', 'searchflow', 'dist', 'cli', 'main.js');
    for (const args of [
      ['enrich', 'rows.csv', '--url-column', 'url', '--csv', 'out/command.csv'],
      ['events', 'sync', '--into', 'out/command.duckdb'],
    ]) {
      const { status, stderr } = spawnSync(process.execPath, [bin, ...args], {
        ...{ cwd: project, env, encoding: 'utf8' as const, timeout: 240_000 },
      });
      expect(status, stderr).toBe(0);
    }
    expect(readFileSync(join(project, 'out', 'command.csv'), 'utf8').split('\n')).toHaveLength(4);
  });
});
