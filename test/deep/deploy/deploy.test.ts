import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, inject, it } from 'vitest';
import { folderOfTest } from '../../support/files/folders.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

it('the files of a deployment pass their own tools', () => {
  const { status, stdout, stderr } = spawnSync('node', ['scripts/check-deploy.mjs'], { cwd: root, encoding: 'utf8' });
  expect(status, `${stdout}${stderr}`).toBe(0);
});

it('the steps of the image, with the files that .dockerignore lets in, make a worker that runs a job', () => {
  const app = folderOfTest();
  const allowed = readFileSync(join(root, '.dockerignore'), 'utf8').match(/(?<=^!).+$/gm) ?? [];
  for (const path of allowed) cpSync(join(root, path), join(app, path), { recursive: true });
  const [, build = ''] =
    /RUN (node scripts\/build\.mjs[\s\S]*?)\n\n/.exec(readFileSync(join(root, 'Dockerfile'), 'utf8')) ?? [];
  for (const step of ['npm ci --ignore-scripts', build.replaceAll('\\\n', ' ')])
    execFileSync('sh', ['-euc', step], { cwd: app, stdio: 'pipe' });

  const home = join(app, 'home');
  mkdirSync(home);
  writeFileSync(join(home, 'rows.csv'), 'name,url\nAcme,https://acme.example/\n');
  const { PATH = '' } = process.env;
  const env = { PATH, HOME: home, TEMPORAL_ADDRESS: inject('temporalAddress'), SEARCHFLOW_TASK_QUEUE: home };
  const entry = join(app, 'deploy', 'docker', 'entrypoint.sh');
  const { status, stderr } = spawnSync(entry, ['enrich', 'rows.csv', '--url-column', 'url'], {
    ...{ cwd: home, env, encoding: 'utf8', timeout: 240_000 },
  });
  expect(status, stderr).toBe(0);
  expect(stderr).toContain('Done: 1 row');
});
