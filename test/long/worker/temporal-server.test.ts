import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { expect, it, vi } from 'vitest';
import { isAlive, processStartTime } from '../../../src/files/process-identity.js';
import { isLocked, lockHolder } from '../../../src/files/process-lock.js';
import { freePort } from '../../../src/worker/temporal-server/free-port.js';
import { readRecord, removeRecord, serverFiles } from '../../../src/worker/temporal-server/server-files.js';
import { TemporalServerFailed } from '../../../src/worker/temporal-server/temporal-server.js';
import { serverUsers, untilGone } from '../../support/worker/server-users.js';

const users = serverUsers();
const LONG = 60_000;
const files = () => serverFiles(users.stateDir);

async function withClient<T>(address: string, work: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address });
  try {
    return await work(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

const startWaiting = (address: string, workflowId: string) =>
  withClient(address, (client) => client.workflow.start('waiting', { taskQueue: 'nobody', workflowId, args: [] }));

const statusOf = (address: string, workflowId: string) =>
  withClient(address, async (client) => (await client.workflow.getHandle(workflowId).describe()).status.name);

it('27: a second process gets the server of the first, and one that detaches leaves it to the other', async () => {
  const here = await users.here(LONG);
  expect(here).toMatchObject({ reused: false, uiUrl: null });
  expect(here.address).toMatch(/^127\.0\.0\.1:\d+$/);
  const { server } = await users.elsewhere(LONG);
  expect(server).toEqual({ address: here.address, pid: here.pid, reused: true, uiUrl: null });
  await here.detach();
  await here.detach();
  expect(isLocked(files().users)).toBe(true);
});

it('a server has a web UI only if a port is set for it', async () => {
  const port = await freePort();
  const here = await users.here(LONG, process.env, port);
  expect(here.uiUrl).toBe(`http://127.0.0.1:${port}`);
  expect((await fetch(here.uiUrl as string)).status).toBe(200);
});

it('27: processes that start at once get one server', async () => {
  const all = await Promise.all([users.here(LONG), users.here(LONG), users.elsewhere(LONG), users.elsewhere(LONG)]);
  const servers = all.map((found) => ('server' in found ? found.server : found));
  expect(new Set(servers.map(({ pid }) => pid)).size).toBe(1);
  expect(servers.filter(({ reused }) => !reused)).toHaveLength(1);
});

it('a record whose process number belongs to another process is outdated: that process is left alone', async () => {
  mkdirSync(users.stateDir, { recursive: true });
  const stale = { pid: process.pid, startTime: `${processStartTime(process.pid)}0`, port: 1, uiPort: null };
  writeFileSync(files().record, JSON.stringify({ ...stale, version: 'x', binary: 'temporal' }));
  const here = await users.here(LONG);
  expect(here.reused).toBe(false);
  expect(here.pid).not.toBe(process.pid);
});

it('a torn record is ignored, and its server is not joined by a second one', async () => {
  const first = await users.here(LONG);
  writeFileSync(files().record, '{"pid":');
  const second = await users.here(LONG);
  expect(second.reused).toBe(false);
  expect(isAlive(first.pid, null)).toBe(false);
  removeRecord(files());
  writeFileSync(files().databaseLock, '');
  const third = await users.here(LONG);
  expect(isAlive(second.pid, null)).toBe(false);
  expect(third.reused).toBe(false);
});

it('28: after its only user was killed, server and watcher end and leave no record', async () => {
  const { child, server } = await users.elsewhere(400);
  const watcher = users.watcherPid() as number;
  expect(isAlive(watcher, null)).toBe(true);
  child.kill('SIGKILL');
  await untilGone(server.pid);
  await untilGone(watcher);
  expect(readRecord(files())).toBeNull();
});

it('31: a killed server is started again by its watcher, at the same address and with the same data', async () => {
  const first = await users.here(LONG, process.env);
  await startWaiting(first.address, 'survivor');
  process.kill(first.pid, 'SIGKILL');
  await vi.waitUntil(() => (readRecord(files())?.pid ?? first.pid) !== first.pid, { timeout: 20_000, interval: 50 });
  await vi.waitFor(async () => expect(await statusOf(first.address, 'survivor')).toBe('RUNNING'), { timeout: 20_000 });
});

it('31: with server and watcher killed, the next command starts both again with the same data', async () => {
  const first = await users.here(LONG);
  await startWaiting(first.address, 'survivor');
  const watcher = users.watcherPid() as number;
  process.kill(watcher, 'SIGKILL');
  process.kill(first.pid, 'SIGKILL');
  await untilGone(watcher);
  await untilGone(first.pid);
  const second = await users.here(LONG);
  expect(second.reused).toBe(false);
  expect(await statusOf(second.address, 'survivor')).toBe('RUNNING');
  expect(lockHolder(files().watcherLock)?.pid).not.toBe(watcher);
});

it('31: a server that is killed during its start is started once more', async () => {
  const starting = users.here(LONG);
  await vi.waitUntil(() => readRecord(files()) !== null, { timeout: 20_000, interval: 1 });
  const killed = readRecord(files())?.pid as number;
  process.kill(killed, 'SIGKILL');
  const server = await starting;
  expect(server.pid).not.toBe(killed);
  expect(isAlive(server.pid, null)).toBe(true);
  expect(users.said.join()).toMatch(/Starting the Temporal server again: it was ended by SIGKILL/);
});

it('a server that is stopped during its start is reported within 10 s, and later as not answering', async () => {
  const begun = performance.now();
  const starting = users.here(LONG).catch((error: unknown) => error);
  await vi.waitUntil(() => readRecord(files()) !== null, { timeout: 20_000, interval: 1 });
  const { pid } = readRecord(files()) as { pid: number };
  process.kill(pid, 'SIGSTOP');
  await vi.waitUntil(() => users.said.length > 0, { timeout: 10_000 });
  expect(performance.now() - begun).toBeLessThan(10_000);
  expect(users.said).toEqual([`Waiting for the embedded Temporal server (PID ${pid}) to answer …`]);
  const failed = await starting;
  expect(failed).toBeInstanceOf(TemporalServerFailed);
  expect((failed as Error).message).toMatch(
    /did not start: no answer at \S+ within 30 s.*Run the same command again\.$/,
  );
  expect(isAlive(pid, null)).toBe(false);
});

it('a server that lost its watcher gets a new one from the next command', async () => {
  const first = await users.here(400);
  const watcher = users.watcherPid() as number;
  process.kill(watcher, 'SIGKILL');
  await untilGone(watcher);
  const second = await users.here(400);
  expect(second).toMatchObject({ pid: first.pid, reused: true });
  await first.detach();
  await second.detach();
  await untilGone(first.pid);
});

it('a hanging server is ended and replaced', async () => {
  const first = await users.here(LONG);
  process.kill(first.pid, 'SIGSTOP');
  const second = await users.here(LONG);
  expect(second.reused).toBe(false);
  expect(isAlive(first.pid, null)).toBe(false);
  expect(users.said.join()).toContain(`(PID ${first.pid}): `);
  // Workers still call the address of the former server.
  expect(second.address).toBe(first.address);
});

it('ends the server of a folder that was deleted', async () => {
  const first = await users.here(400);
  const watcher = users.watcherPid() as number;
  // The server may still write into the folder.
  rmSync(users.stateDir, { recursive: true, maxRetries: 10 });
  await untilGone(first.pid);
  await untilGone(watcher);
});

it('ends the former server of a folder that was deleted and made again before the new server starts', async () => {
  const former = await users.elsewhere(LONG);
  rmSync(users.stateDir, { recursive: true, maxRetries: 10 });
  const { pid, reused } = await users.here(LONG);
  expect(reused).toBe(false);
  expect(isAlive(former.server.pid, null)).toBe(false);
  expect(isAlive(pid, null)).toBe(true);
});

it('a damaged database is named with the reason and a remedy, and no process stays', async () => {
  mkdirSync(users.stateDir, { recursive: true });
  writeFileSync(files().database, randomBytes(20_000));
  const failed = await users.here(400).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(TemporalServerFailed);
  const { message } = failed as Error;
  expect(message).toContain('file is not a database');
  expect(message).toContain(`Its database ${files().database} is damaged. Move the file away`);
  expect(message).toContain(files().log);
  expect(readRecord(files())).toBeNull();
  await untilGone(users.watcherPid() as number);
});

it('31: a database whose creation was cut short by a kill is created again', async () => {
  mkdirSync(users.stateDir, { recursive: true });
  writeFileSync(files().database, randomBytes(20_000));
  writeFileSync(files().unfinished, '');
  const here = await users.here(LONG);
  expect(here.reused).toBe(false);
  expect(existsSync(files().unfinished)).toBe(false);
});

it('55: the server gets neither keys nor settings of ours, and only their owner may read its files', async () => {
  const canary = `canary-${randomBytes(8).toString('hex')}`;
  const here = await users.here(LONG, { ...process.env, SEARCHFLOW_API_KEY: canary, TEMPORAL_API_KEY: canary });
  const pids = [here.pid, users.watcherPid() as number];
  for (const path of [files().database, files().log, files().record]) expect(statSync(path).mode & 0o077).toBe(0);
  if (process.platform !== 'linux') return;
  for (const pid of pids) expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain(canary);
});

it('fails with the error of the system if the state folder cannot be created', async () => {
  mkdirSync(join(users.stateDir, '..'), { recursive: true });
  writeFileSync(users.stateDir, 'a file');
  await expect(users.here(LONG)).rejects.toMatchObject({ code: expect.stringMatching(/EEXIST|ENOTDIR/) });
});
