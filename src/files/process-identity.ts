import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A process for good: its number alone is given to another one after its end. */
export interface ProcessIdentity {
  readonly pid: number;
  /** See {@link processStartTime}; null where the system does not tell. */
  readonly startTime: string | null;
}

/** The identity of this process. */
export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, startTime: processStartTime(process.pid) };
}

/**
 * A text that two processes of one number never share: boot and clock ticks on Linux, the date of the start elsewhere.
 * Null where there is no such process, where it is dead and only not reaped yet, or where the system does not tell.
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
    // ps ends with 1 where there is no such process.
    return null;
  }
}

function linuxStartTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, ticks] = [fields[0], fields[19]];
    if (state === undefined || ticks === undefined || state === 'Z' || state === 'X') return null;
    // Ticks count from the boot, and state files outlive it.
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8)}:${ticks}`;
  } catch {
    return null;
  }
}

/** Whether this very process still runs; another one that was given its number does not count. */
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

/** Reads an identity out of parsed JSON; null where it is none. */
export function toIdentity(value: unknown): ProcessIdentity | null {
  const { pid, startTime } = (value ?? {}) as { pid?: unknown; startTime?: unknown };
  if (typeof pid !== 'number') return null;
  return { pid, startTime: typeof startTime === 'string' ? startTime : null };
}
