import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { isAlive, processStartTime } from '../../../src/files/process-identity.js';
import { LockBusy, lockHolder, tryLock, withLock } from '../../../src/files/process-lock.js';
import { folderOfTest } from '../../support/files/folders.js';

const built = new URL('../../../dist/files/process-lock.js', import.meta.url).href;
const children: ChildProcess[] = [];
let dir: string;

beforeEach(() => {
  dir = folderOfTest();
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** Another process that runs a program, takes the lock and then lives until it is killed. */
async function holderOf(path: string, program = ''): Promise<ChildProcess> {
  const script = `import { tryLock } from ${JSON.stringify(built)};
    ${program}
    if (tryLock(process.argv[1]) === null) process.exit(1);
    process.stdout.write('held');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await once(child.stdout!, 'data');
  return child;
}

it('a lock has one holder, also within one process, and a second release does no harm', () => {
  const path = join(dir, 'a.lock');
  const lock = tryLock(path);
  expect(lock).not.toBeNull();
  expect(tryLock(path)).toBeNull();
  lock?.release();
  const again = tryLock(path);
  expect(again).not.toBeNull();
  lock?.release();
  expect(tryLock(path)).toBeNull();
  again?.release();
});

it('a lock names the process that holds it, and none after its release', () => {
  const path = join(dir, 'a.lock');
  const lock = tryLock(path);
  expect(lockHolder(path)).toEqual({ pid: process.pid });
  lock?.release();
  expect(lockHolder(path)).toBeNull();
  expect(lockHolder(join(dir, 'none.lock'))).toBeNull();
});

it('a lock has a private file in private folders', () => {
  const path = join(dir, 'made', 'for', 'a.lock');
  tryLock(path)?.release();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(join(dir, 'made')).mode & 0o777).toBe(0o700);
});

it('28: a lock ends with its process, even if that was killed', async () => {
  const path = join(dir, 'a.lock');
  const child = await holderOf(path);
  expect(tryLock(path)).toBeNull();
  expect(lockHolder(path)).toEqual({ pid: child.pid });
  child.kill('SIGKILL');
  await once(child, 'exit');
  const lock = tryLock(path);
  expect(lock).not.toBeNull();
  lock?.release();
});

it('a killed process counts as alive until its last thread has released its locks', async () => {
  const path = join(dir, 'a.lock');
  for (let n = 0; n < 4; n++) {
    const holder = await holderOf(path, 'globalThis.kept = Array.from({ length: 2e6 }, (_, i) => ({ i }));');
    holder.kill('SIGKILL');
    await vi.waitUntil(() => !isAlive(holder.pid as number, null), { timeout: 10_000, interval: 1 });
    const lock = tryLock(path);
    expect(lock).not.toBeNull();
    lock?.release();
  }
});

it('27: a lock that another process holds is waited for, with its name, until it is free', async () => {
  const path = join(dir, 'a.lock');
  const child = await holderOf(path);
  const said: string[] = [];
  const say = (sentence: string) => {
    said.push(sentence);
    child.kill('SIGKILL');
  };
  expect(await withLock(path, () => 'done', { waitMs: 30_000, say })).toBe('done');
  expect(said).toEqual([`Waiting for PID ${child.pid}, which has locked ${path}.`]);
  expect(lockHolder(path)).toBeNull();
});

it('a lock is waited for until the given time, and the error names the holder', async () => {
  const path = join(dir, 'a.lock');
  const lock = tryLock(path);
  const refused = await withLock(path, () => 'done', { waitMs: 100 }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(LockBusy);
  expect((refused as LockBusy).pid).toBe(process.pid);
  lock?.release();
});

it('a lock is released if the work under it fails', async () => {
  const path = join(dir, 'a.lock');
  const failing = () => Promise.reject(new Error('no'));
  await expect(withLock(path, failing, { waitMs: 0 })).rejects.toThrow('no');
  expect(await withLock(path, () => 'done', { waitMs: 0 })).toBe('done');
});

it('a lock admits callers one after the other', async () => {
  const path = join(dir, 'a.lock');
  let inside = 0;
  let most = 0;
  const visit = () =>
    withLock(
      path,
      async () => {
        most = Math.max(most, ++inside);
        await new Promise(setImmediate);
        inside--;
      },
      { waitMs: 30_000 },
    );
  await Promise.all(Array.from({ length: 5 }, visit));
  expect(most).toBe(1);
});

it.skipIf(process.platform === 'win32')(
  'a lock that was passed to a child process lasts as long as the child',
  async () => {
    const path = join(dir, 'a.lock');
    const lock = tryLock(path);
    const child = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)'], {
      stdio: ['ignore', 'ignore', 'ignore', lock!.fd],
    });
    children.push(child);
    closeSync(lock!.fd);
    expect(tryLock(path)).toBeNull();
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(tryLock(path)?.release()).toBeUndefined();
  },
);

it('distinguishes a process from another one with the same number', () => {
  const started = processStartTime(process.pid);
  expect(started).not.toBeNull();
  expect(isAlive(process.pid, started)).toBe(true);
  expect(isAlive(process.pid, null)).toBe(true);
  expect(isAlive(process.pid, `${started}0`)).toBe(false);
  const { pid } = spawnSync(process.execPath, ['--version']);
  expect(isAlive(pid, null)).toBe(false);
  expect(processStartTime(pid)).toBeNull();
  for (const none of [0, -1, Number.NaN]) expect(isAlive(none, null)).toBe(false);
});

it('a lock file with a dead holder or nonsense names no process', () => {
  const path = join(dir, 'a.lock');
  writeFileSync(path, JSON.stringify({ pid: process.pid, startTime: 'another life' }));
  expect(lockHolder(path)).toBeNull();
  writeFileSync(path, 'nonsense that is longer than what a holder writes '.repeat(5));
  expect(lockHolder(path)).toBeNull();
  const lock = tryLock(path);
  expect(lockHolder(path)).toEqual({ pid: process.pid });
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ pid: process.pid });
  lock?.release();
});
