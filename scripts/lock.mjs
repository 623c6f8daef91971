import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { inRoot, textOf } from './root.mjs';

const file = inRoot('.set-up-lock');

/**
 * Does `work` while no other process of this clone sets up: two commands started at once would install and build into
 * the same folders. A lock whose process is gone counts for nothing.
 */
export function alone(say, work) {
  let told = false;
  while (!take()) {
    const holder = Number(textOf(file));
    if (holder > 0 && !alive(holder)) {
      rmSync(file, { force: true });
      continue;
    }
    if (!told && holder > 0) say(`Process ${holder} is setting up this folder; waiting for it …`);
    told ||= holder > 0;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
  try {
    return work();
  } finally {
    rmSync(file, { force: true });
  }
}

function take() {
  try {
    const handle = openSync(file, 'wx');
    writeSync(handle, String(process.pid));
    closeSync(handle);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
