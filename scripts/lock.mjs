import { execFileSync } from 'node:child_process';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { inRoot, textOf } from './root.mjs';

const file = inRoot('.set-up-lock');

/**
 * Runs `work` while no other process of this clone sets up: two commands started at once would install and build into the same
 * folders. The lock of a dead process does not count.
 */
export function alone(say, work) {
  let reported = false;
  while (!take()) {
    const holder = readHolder();
    // The lock was released meanwhile.
    if (holder === null) continue;
    if (!isAlive(holder)) {
      takeAway(holder);
      continue;
    }
    if (!reported) say(`Process ${holder.split(' ')[0]} is setting up this folder; waiting for it …`);
    reported = true;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
  try {
    return work();
  } finally {
    rmSync(file, { force: true });
  }
}

function readHolder() {
  try {
    return textOf(file);
  } catch (error) {
    if (error.code !== 'EISDIR') throw error;
    throw new Error(
      `${file} is a folder, but must be the lock file of a set-up. Remove it and run the same command again.`,
    );
  }
}

/** Creates a lock in one step: a file that is written after its creation may be left empty by a kill, and then names no process. */
function take() {
  const draft = `${file}.${process.pid}`;
  const holder = `${process.pid} ${startTime(process.pid) ?? ''}`;
  try {
    writeFileSync(draft, holder);
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    if (error.code !== 'EPERM' && error.code !== 'ENOTSUP') throw error;
    return createDirectly(holder);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Like `take`, for a file system without hard links. */
function createDirectly(holder) {
  try {
    writeFileSync(file, holder, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Removes the lock that was read; if another one has replaced it meanwhile, that one is restored. */
function takeAway(seen) {
  const aside = `${file}.${process.pid}.old`;
  try {
    renameSync(file, aside);
    if (readFileSync(aside, 'utf8') !== seen) linkSync(aside, file);
  } catch (error) {
    // Another process was faster.
    if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** Whether the process of a lock still runs: its PID may belong to another one by now. */
function isAlive(holder) {
  const [number, ...started] = holder.split(' ');
  const pid = Number(number);
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== 'EPERM') return false;
  }
  const now = startTime(pid);
  return now === null || started.join(' ') === now;
}

/** Start time of a process, as the system prints it; null if it is unknown. */
function startTime(pid) {
  try {
    if (process.platform === 'linux') {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
    }
    if (process.platform === 'win32') return null;
    return (
      execFileSync('/bin/ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', timeout: 5000 }).trim() || null
    );
  } catch {
    return null;
  }
}
