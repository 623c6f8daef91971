// The processes of a campaign. On Linux each can be found by the campaign's folder in its arguments or its environment.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const main = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'dist', 'cli', 'main.js');

/** Ids and command lines of the processes that work on a folder. */
export function processesOf(dir) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const read = (file) => readFileSync(`/proc/${pid}/${file}`, 'utf8').replaceAll('\0', ' ');
        const line = read('cmdline');
        return line.includes(dir) || read('environ').includes(dir) ? [{ pid: Number(pid), line }] : [];
      } catch {
        return [];
      }
    });
}

export function signal(pids, name) {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // The process has ended by itself.
    }
  }
}

/** Runs `searchflow …args`; `ended` resolves to its exit code, null if it was killed. */
export function startCommand(args, { cwd, env }) {
  const child = spawn(process.execPath, [main, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { out: '', err: '' };
  child.stdout.on('data', (data) => (said.out += data));
  child.stderr.on('data', (data) => (said.err += data));
  return {
    ...{ args, pid: child.pid },
    ended: new Promise((resolve) => child.once('close', resolve)),
    out: () => said.out,
    err: () => said.err,
    /** Length of the command's output, which grows while the command works. */
    length: () => said.out.length + said.err.length,
  };
}
