import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';

/** Ids of the processes that were started for this state folder, with the Temporal server and its watcher (Linux). */
export function processesOf(stateDir: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => isOf(pid, stateDir));
}

/** Kills all processes of a state folder at once, as a power cut would. */
export function killAllOf(stateDir: string): void {
  for (const pid of processesOf(stateDir)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process has ended by itself.
    }
  }
}

function isOf(pid: number, stateDir: string): boolean {
  try {
    const read = (file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8');
    return read('environ').includes(`SEARCHFLOW_STATE_DIR=${stateDir}\0`) || read('cmdline').includes(stateDir);
  } catch {
    // The process has ended, or belongs to another user.
    return false;
  }
}

/** Ends a process, if it has not ended yet. */
export async function endProcess(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
  const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null;
  child.kill(signal);
  await ended;
}
