import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { npmCommand } from '../scripts/install.mjs';
import { hashFiles, inRoot, textOf } from '../scripts/root.mjs';

const folder = inRoot('.cache', 'peers');
const files = ['requirements.txt', 'package.json', 'package-lock.json'].map((name) => inRoot('bench', 'peers', name));
const stamp = join(folder, 'stamp');

/** Installs the pinned peers into .cache/peers, once; returns the paths of Python and of exa-js, and the versions. */
export function setUpPeers() {
  const hash = hashFiles(files);
  if (textOf(stamp) !== hash) {
    install();
    writeFileSync(stamp, hash);
  }
  const pins = [...readFileSync(files[0], 'utf8').matchAll(/^([\w-]+)\S*==(\S+)$/gm)].map(([, name, pin]) => [
    name,
    pin,
  ]);
  const exaJs = join(folder, 'node_modules', 'exa-js');
  const { version } = JSON.parse(readFileSync(join(exaJs, 'package.json'), 'utf8'));
  const python = join(folder, 'venv', 'bin', 'python');
  const [, pythonVersion] = run(python, ['--version'], { stdio: 'pipe' }).trim().split(' ');
  return { python, exaJs, versions: { Python: pythonVersion, 'exa-js': version, ...Object.fromEntries(pins) } };
}

function install() {
  if (spawnSync('python3', ['-c', 'import venv, ensurepip']).status !== 0) {
    console.error('The peers need Python: no python3 with the module venv was found on the PATH.');
    process.exit(2);
  }
  console.log('Installing dlt, exa-py and exa-js into .cache/peers, about a minute …');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  run('python3', ['-m', 'venv', join(folder, 'venv')]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', files[0]];
  run(join(folder, 'venv', 'bin', 'python'), pip);
  for (const name of ['package.json', 'package-lock.json'])
    copyFileSync(inRoot('bench', 'peers', name), join(folder, name));
  const npm = npmCommand();
  run(npm.file, [...npm.args, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder, shell: npm.shell });
}

function run(file, args, options = {}) {
  const { status, error, stdout } = spawnSync(file, args, { stdio: ['ignore', 2, 2], encoding: 'utf8', ...options });
  if (error || status !== 0) throw new Error(`${file} ${args.join(' ')} failed${error ? `: ${error.message}` : ''}`);
  return stdout;
}
