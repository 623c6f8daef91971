import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { inPackage } from '../../files/package-root.js';
import { tryLock } from '../../files/process-lock.js';
import { bareEnvironment } from '../temporal-program/bare-environment.js';
import type { ServerFiles } from './server-files.js';

const inherits = process.platform !== 'win32';
const INHERITED_FD = 3;

/** Starts the watcher of a folder if none is running. Call this function while holding the folder's lock, before the server is started. */
export function keepWatcher(
  files: ServerFiles,
  lingerMs: number,
  env: Readonly<Record<string, string | undefined>>,
): void {
  const lock = tryLock(files.watcherLock);
  if (lock === null) return;
  const log = openSync(files.log, 'a', 0o600);
  try {
    const lockFd = inherits ? String(INHERITED_FD) : 'none';
    const watcher = inPackage('dist', 'worker', 'temporal-server', 'server-watcher.js');
    const child = spawn(process.execPath, [watcher, files.stateDir, String(lingerMs), lockFd], {
      detached: true,
      // An unexpected error of the watcher goes to the server's log.
      stdio: ['ignore', 'ignore', log, inherits ? lock.fd : 'ignore'],
      env: bareEnvironment(env),
      windowsHide: true,
    });
    // If the watcher cannot be started, the server runs without a watcher until the next command of the folder starts one.
    child.once('error', () => undefined);
    if (child.pid !== undefined && inherits) lock.handOver(child.pid);
    child.unref();
  } finally {
    closeSync(log);
    lock.release();
  }
}
