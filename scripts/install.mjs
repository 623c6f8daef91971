import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { hashFiles, inRoot, root, textOf } from './root.mjs';

const lockFile = inRoot('package-lock.json');
const stamp = inRoot('node_modules', '.searchflow-lock');

/** Whether `node_modules` matches the lock file. */
export function installed() {
  const hash = hashFiles([lockFile]);
  if (textOf(stamp) === hash) return true;
  if (!matches(textOf(lockFile), textOf(inRoot('node_modules', '.package-lock.json')))) return false;
  writeFileSync(stamp, hash);
  return true;
}

/** Whether npm's own record of an install has every package of the lock file; saves a second install after `npm install`. */
function matches(lockText, recordText) {
  if (recordText === null) return false;
  const [wanted, found] = [lockText, recordText].map((text) => JSON.parse(text).packages);
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    if (found[path]) return found[path].version === entry.version;
    return entry.optional === true || entry.devOptional === true;
  });
}

/** Installs exactly the lock file's packages. Throws a sentence if npm fails. */
export function install(say) {
  const count = Object.keys(JSON.parse(textOf(lockFile)).packages).length;
  const started = Date.now();
  say(`Installing up to ${count} packages from package-lock.json, about half a minute …`);
  const npm = npmCommand();
  const { status, error } = spawnSync(npm.file, [...npm.args, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: npm.shell,
  });
  if (error || status !== 0)
    throw new Error(`npm ci failed${error ? `: ${error.message}` : ''}. Is the npm registry reachable?`);
  writeFileSync(stamp, hashFiles([lockFile]));
  say(`Installed in ${seconds(started)} s.`);
}

/** The npm that runs this script, else the one on PATH. */
export function npmCommand() {
  const path = process.env.npm_execpath;
  if (path && basename(path).startsWith('npm-')) return { file: process.execPath, args: [path], shell: false };
  return { file: 'npm', args: [], shell: process.platform === 'win32' };
}

/** Seconds since `started`, for a person. */
export const seconds = (started) => ((Date.now() - started) / 1000).toFixed(1);
