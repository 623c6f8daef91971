import { spawn } from 'node:child_process';
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';

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

/** CPU seconds and peak memory (MB) of a process as the kernel counts them; null if it has ended. */
export function usageOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return peak ? { cpu: (Number(fields[11]) + Number(fields[12])) / 100, peakMb: Number(peak) / 1024 } : null;
  } catch {
    return null;
  }
}

/** The usage of a process, polled while it lives. */
export function watch(pid) {
  const seen = { cpu: 0, peakMb: 0 };
  const timer = setInterval(() => Object.assign(seen, usageOf(pid)), 50);
  return { seen, stop: () => clearInterval(timer) };
}

/** Runs a program with these arguments to its end, by default Node; returns its start and end (Unix ms), seconds, CPU seconds and peak memory of that process alone. */
export async function timed(args, { env = {}, cwd, program = process.execPath } = {}) {
  const startedAt = Date.now();
  const started = performance.now();
  const child = spawn(program, args, {
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
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}\n${stderr.slice(-3000)}`);
  const { cpu, peakMb } = watched.seen;
  return { startedAt, endedAt: startedAt + seconds * 1000, seconds, cpu, peakMb, stdout, stderr };
}

/** The first row of a query on a DuckDB file. */
export async function readRow(file, sql) {
  const database = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' });
  const connection = await database.connect();
  try {
    const [first] = (await connection.runAndReadAll(sql)).getRows();
    return first;
  } finally {
    connection.closeSync();
    database.closeSync();
  }
}

export function median(numbers) {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

/** The median of each figure of some runs. */
export function medians(runs) {
  return Object.fromEntries(Object.keys(runs[0]).map((name) => [name, median(runs.map((run) => run[name]))]));
}
