import { spawn } from 'node:child_process';
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
export const command = join(root, 'dist', 'bin', 'searchflow.js');

/** A folder for one run, removed at its end unless KEEP is set. */
export function workFolder() {
  const dir = mkdtempSync(join(tmpdir(), 'searchflow-bench-'));
  return { dir, remove: () => process.env.KEEP || rmSync(dir, { recursive: true, force: true }) };
}

/** Starts a script that prints one line when it is ready and ends with its standard input; returns that line, and `stop`. */
export async function startScript(path, options) {
  const child = spawn(process.execPath, [join(root, path), JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    cwd: root,
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const line = await new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${path} ended with ${code}`)));
    child.stdout.once('data', (data) => resolve(String(data).trim()));
  });
  const stop = async () => {
    child.stdin.end();
    await ended;
  };
  return { line, pid: child.pid, stop };
}

/** The sandbox as a process of its own; `get` reads its bill, log, … `startedAt`: Unix ms at which the times of its log begin. */
export async function sandboxProcess(options) {
  const { line, pid, stop } = await startScript('bench/sandbox-process.mjs', options);
  const [url, startedAt] = line.split(' ');
  return {
    url,
    startedAt: Number(startedAt),
    pid,
    stop,
    get: async (path) => (await fetch(`${url}/__sandbox/${path}`)).json(),
  };
}

/** The strict service as a process of its own; `get` reads its `log`, `purchases` or `runs`, `next` queues faults. */
export async function serviceProcess(options) {
  const { line: url, pid, stop } = await startScript('test/service/main.mjs', options);
  return {
    ...{ url, pid, stop },
    get: async (what) => (await fetch(`${url}/__${what}`)).json(),
    next: (...faults) => fetch(`${url}/__next`, { method: 'POST', body: JSON.stringify(faults) }),
  };
}

/** Writes a CSV of `rows` rows with distinct URLs, numbered from `start`. */
export async function writeRows(path, rows, start = 0) {
  const file = createWriteStream(path);
  file.write('id,name,url\n');
  const end = start + rows;
  for (let from = start; from < end; from += 1000) {
    let text = '';
    for (let row = from; row < Math.min(end, from + 1000); row++) {
      text += `${row},"Company, number ${row}",https://site-${row % 9973}.example/company/${row}\n`;
    }
    if (!file.write(text)) await new Promise((resolve) => file.once('drain', resolve));
  }
  await new Promise((resolve) => file.end(resolve));
}

/** CPU seconds and peak memory (MB) of a process as the kernel counts them, polled while it lives. */
export function watch(pid) {
  const seen = { cpu: 0, peakMb: 0 };
  const poll = () => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      seen.cpu = (Number(fields[11]) + Number(fields[12])) / 100;
      const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
      if (peak) seen.peakMb = Number(peak) / 1024;
    } catch {
      // The process has ended: the last figures count.
    }
  };
  const timer = setInterval(poll, 50);
  return { seen, stop: () => clearInterval(timer) };
}

/** Runs node with these arguments to its end; returns its start and end (Unix ms), seconds, CPU seconds and peak memory of that process alone. */
export async function timed(args, { env = {}, cwd } = {}) {
  const startedAt = Date.now();
  const started = performance.now();
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const watched = watch(child.pid);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data) => (stdout += data));
  child.stderr.on('data', (data) => (stderr += data));
  const code = await new Promise((resolve) => child.once('close', resolve));
  watched.stop();
  const seconds = (performance.now() - started) / 1000;
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}\n${stderr.slice(-3000)}`);
  const { cpu, peakMb } = watched.seen;
  return { startedAt, endedAt: startedAt + seconds * 1000, seconds, cpu, peakMb, stdout, stderr };
}

export function median(numbers) {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

/** Prints a figure beside its bar, and whether it is met. */
export function bar(name, value, test, wanted) {
  const met = test(value);
  console.log(`${met ? 'met   ' : 'MISSED'} ${name}: ${value.toFixed(3)} (bar: ${wanted})`);
  return met;
}
