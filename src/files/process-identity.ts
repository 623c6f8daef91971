import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Identifies a process forever. A PID alone does not identify a process, because the system reuses PIDs. */
export interface ProcessIdentity {
  readonly pid: number;
  /** See {@link processStartTime}; null if the system does not report the start time. */
  readonly startTime: string | null;
}

export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, startTime: processStartTime(process.pid) };
}

/**
 * A text that two processes with one PID never share: boot id and clock ticks on Linux, the start date elsewhere. Null if there is no such
 * process, if it is a zombie without threads, or if the system does not report these values.
 */
export function processStartTime(pid: number): string | null {
  if (process.platform === 'linux') return linuxStartTime(pid);
  if (process.platform === 'win32') return null;
  try {
    const options = { encoding: 'utf8' as const, timeout: 5_000, env: { LC_ALL: 'C' }, stdio: 'pipe' as const };
    const [state, ...started] = execFileSync('/bin/ps', ['-o', 'stat=,lstart=', '-p', String(pid)], options)
      .trim()
      .split(/\s+/);
    return state === undefined || state.startsWith('Z') ? null : started.join(' ') || null;
  } catch {
    // ps exits with 1 if there is no such process.
    return null;
  }
}

function linuxStartTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field is the program's name in parentheses, and this name may contain spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, threads, ticks] = [fields[0], fields[17], fields[19]];
    if (state === undefined || ticks === undefined || state === 'X') return null;
    // A killed process is a zombie before its last thread has ended, and its threads keep its files and locks.
    if (state === 'Z' && !(Number(threads) > 1)) return null;
    // Ticks count from the boot, but state files survive a reboot: so the boot id is part of the text.
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8)}:${ticks}`;
  } catch {
    return null;
  }
}

/** Whether this process is still running; another process with the same PID does not count. */
export function isAlive(pid: number, startTime: string | null): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  if (process.platform === 'linux' || startTime !== null) {
    const now = processStartTime(pid);
    return now !== null && (startTime === null || startTime === now);
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether a process is suspended by a signal; false if the system does not report it. */
export function processIsStopped(pid: number): boolean {
  if (process.platform !== 'linux') return false;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
  } catch {
    return false;
  }
}

/** Reads an identity from parsed JSON; null if the JSON is not an identity. */
export function toIdentity(value: unknown): ProcessIdentity | null {
  const { pid, startTime } = (value ?? {}) as { pid?: unknown; startTime?: unknown };
  if (typeof pid !== 'number') return null;
  return { pid, startTime: typeof startTime === 'string' ? startTime : null };
}
