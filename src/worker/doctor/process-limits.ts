import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { promisify } from 'node:util';
import { type Found, ok, problem, type Setup, warning } from './finding.js';

/** File handles of a worker besides its requests: databases, Temporal, files of journal and stages, modules. */
const OTHER_HANDLES = 128;
const MIB = 1_048_576;
/** Memory of a worker: below the first it is killed by ordinary jobs, below the second by large answers. */
const LEAST_MEMORY = 512 * MIB;
const LITTLE_MEMORY = 1024 * MIB;

export async function checkLimits({ config }: Setup): Promise<readonly Found[]> {
  const [handles, memory] = await Promise.all([openFiles(), memoryLimit()]);
  return [
    { ...ofHandles(handles, config.concurrency), check: 'file-handles' },
    { ...ofMemory(memory), check: 'memory' },
  ];
}

function ofHandles(most: number | null, concurrency: number): Found {
  if (most === null) return ok('The limit of open files is not known on this system.');
  const needed = concurrency + OTHER_HANDLES;
  const text = `At most ${most} open files (ulimit -n); a worker with ${concurrency} requests in flight needs about ${needed}.`;
  const raise = 'Raise the limit in the shell, the unit (LimitNOFILE) or the container that starts searchflow:';
  if (most < needed) return problem(text, raise, 'ulimit -n 4096');
  // A worker that also publishes or exports opens a file for each part.
  return most < 2 * needed ? warning(text, raise, 'ulimit -n 4096') : ok(text);
}

function ofMemory(bytes: number): Found {
  const text = `${Math.floor(bytes / MIB)} MiB of memory and ${availableParallelism()} processors.`;
  const mend = 'Give the machine or the container at least 1 GiB; 2 GiB for loads of large pages.';
  if (bytes < LEAST_MEMORY) return problem(text, mend);
  return bytes < LITTLE_MEMORY ? warning(text, mend) : ok(text);
}

/** The limit of open files of this process; null if it is unknown, infinity for none. */
async function openFiles(): Promise<number | null> {
  if (process.platform === 'win32') return null;
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => null);
  const text =
    limits === null
      ? (await promisify(execFile)('/bin/sh', ['-c', 'ulimit -n'], { timeout: 5000 })).stdout
      : (/^Max open files\s+(\S+)/m.exec(limits)?.[1] ?? '');
  if (text.trim() === 'unlimited') return Number.POSITIVE_INFINITY;
  return /^\d+\s*$/.test(text) ? Number(text) : null;
}

/** Memory that this process may use: of the machine, or of its container. */
async function memoryLimit(): Promise<number> {
  const constrained = (process as { constrainedMemory?: () => number }).constrainedMemory?.() ?? 0;
  // Without a limit the system reports 0, or a number above any memory.
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
