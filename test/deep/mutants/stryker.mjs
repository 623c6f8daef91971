// Stryker brings about a hundred packages that nothing else here needs, so it is no dependency of the project. When mutants are requested,
// it is installed below `node_modules/.cache`, in the versions named here. From there it finds the project's own vitest; a second copy of
// vitest must not exist.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const VERSION = '9.6.1';
const packages = ['core', 'instrumenter', 'vitest-runner'].map((name) => `@stryker-mutator/${name}@${VERSION}`);

/** Installs Stryker if it is missing. Returns a function that gives the address of a file in one of its packages. */
export function stryker(root, say) {
  const dir = join(root, 'node_modules', '.cache', `stryker-${VERSION}`);
  if (!existsSync(dir)) install(dir, say);
  return (file) => pathToFileURL(join(dir, 'node_modules', '@stryker-mutator', file)).href;
}

function install(dir, say) {
  say(`Installing Stryker ${VERSION} into node_modules/.cache …`);
  const draft = `${dir}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  writeFileSync(join(draft, 'package.json'), '{ "private": true }\n');
  // Its peer vitest is not installed, and install scripts are not run, because no package here needs its script.
  const flags = [
    '--legacy-peer-deps',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--no-package-lock',
    '--loglevel=error',
  ];
  const { status, error } = spawnSync('npm', ['install', ...flags, ...packages], {
    cwd: draft,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (error || status !== 0) {
    rmSync(draft, { recursive: true, force: true });
    throw new Error('npm could not install Stryker. Is the npm registry reachable?', { cause: error });
  }
  renameSync(draft, dir);
}
