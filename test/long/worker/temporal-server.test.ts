import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { expect, it, onTestFinished, vi } from 'vitest';
import { isAlive, processStartTime } from '../../../src/files/process-identity.js';
import { isLocked } from '../../../src/files/process-lock.js';
import { freePort, readRecord, serverFiles } from '../../../src/worker/temporal-server/server-files.js';
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

it('a server has a web UI only if a port is set for it', async () => {
  const port = await freePort();
  const here = await users.here(LONG, process.env, port);
  expect(here.uiUrl).toBe(`http://127.0.0.1:${port}`);
  expect((await fetch(here.uiUrl as string)).status).toBe(200);
});

it('27: processes that start at once get one server, and one that detaches leaves it to the others', async () => {
  const here = users.here(LONG);
  const all = await Promise.all([here, users.here(LONG), users.elsewhere(LONG), users.elsewhere(LONG)]);
  const servers = all.map((found) => ('server' in found ? found.server : found));
  expect(new Set(servers.map(({ pid }) => pid)).size).toBe(1);
  for (const { address, uiUrl } of servers) expect([address, uiUrl]).toEqual([servers[0]?.address, null]);
  for (let twice = 0; twice < 2; twice++) await (await here).detach();
  expect(isLocked(files().users)).toBe(true);
});

it('a record whose process number belongs to another process is outdated: that process is left alone', async () => {
  mkdirSync(users.stateDir, { recursive: true });
  const stale = { pid: process.pid, startTime: `${processStartTime(process.pid)}0`, port: 1, uiPort: null };
  writeFileSync(files().record, JSON.stringify(stale));
  const here = await users.here(LONG);
  expect(here.pid).not.toBe(process.pid);
});

it('a torn record is written again, and its server is not joined by a second one', async () => {
  const first = await users.here(LONG);
  writeFileSync(files().record, '{"pid":');
  expect((await users.here(LONG)).pid).toBe(first.pid);
});

it('a server whose supervisor was killed before it wrote the record is not joined by a second one', async () => {
  const first = await users.here(LONG);
  await kill('supervisor');
  rmSync(files().record);
  await expect(users.here(LONG)).rejects.toThrow(`Another Temporal server is using ${files().database}. End it`);
  expect(isAlive(first.pid, null)).toBe(true);
  process.kill(first.pid, 'SIGKILL');
  expect((await users.here(LONG)).pid).not.toBe(first.pid);
});

it('28: after its only user was killed, server and supervisor end and leave no record', async () => {
  const { child, server } = await users.elsewhere(400);
  const supervisor = users.supervisorPid() as number;
  child.kill('SIGKILL');
  await untilGone(server.pid);
  await untilGone(supervisor);
  expect(readRecord(files())).toBeNull();
});

it('a process that comes while the server is being ended gets a server', async () => {
  for (const waitMs of [150, 200, 250, 300, 350]) {
    const { address, detach } = await users.here(200);
    await startWaiting(address, `after-${waitMs}`);
    await detach();
    await delay(waitMs);
  }
});

it('31: a killed server is started again by its supervisor, at the same address and with the same data', async () => {
  const first = await users.here(LONG);
  await startWaiting(first.address, 'survivor');
  process.kill(first.pid, 'SIGKILL');
  await vi.waitUntil(() => (readRecord(files())?.pid ?? first.pid) !== first.pid, { timeout: 20_000, interval: 50 });
  await vi.waitFor(async () => expect(await statusOf(first.address, 'survivor')).toBe('RUNNING'), { timeout: 20_000 });
  expect((await users.here(LONG)).address).toBe(first.address);
});

/** Kills the supervisor, the server or both. Returns the PID of the server. */
async function kill(who: string): Promise<number> {
  const signal = who.includes('SIGTERM') ? 'SIGTERM' : 'SIGKILL';
  const server = readRecord(files())?.pid as number;
  const pids = Object.entries({ supervisor: users.supervisorPid() as number, server });
  const killed = pids.filter(([name]) => who.includes(name)).map(([, pid]) => pid);
  for (const pid of killed) process.kill(pid, signal);
  for (const pid of killed) await untilGone(pid);
  return server;
}

it.each(['supervisor', 'supervisor and server', 'SIGTERM: supervisor'])('31: a user replaces a %s', async (who) => {
  const first = await users.here(400);
  await startWaiting(first.address, 'survivor');
  await kill(who);
  await untilGone(first.pid);
  await vi.waitFor(async () => expect(await statusOf(first.address, 'survivor')).toBe('RUNNING'), { timeout: 20_000 });
  const second = await users.here(400);
  expect(second.address).toBe(first.address);
  await first.detach();
  await second.detach();
  await untilGone(second.pid);
});

it.each(['server', 'supervisor and server'])('31: a %s killed during the start is started once more', async (who) => {
  const starting = users.here(LONG);
  await vi.waitUntil(() => readRecord(files()) !== null, { timeout: 20_000, interval: 1 });
  const killed = await kill(who);
  expect((await starting).pid).not.toBe(killed);
});

it('a server whose port was taken in the meantime gets a new one', async () => {
  const first = await users.here(LONG);
  await kill('supervisor and server');
  const port = Number(first.address.split(':')[1]);
  const other = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => void other.close());
  const second = await users.here(LONG);
  expect(second.address).not.toBe(first.address);
});

it('a server that is stopped during its start is reported within 10 s, and later as not answering', async () => {
  const starting = users.here(LONG).catch((error: unknown) => error);
  await vi.waitUntil(() => readRecord(files()) !== null, { timeout: 20_000, interval: 1 });
  const { pid } = readRecord(files()) as { pid: number };
  process.kill(pid, 'SIGSTOP');
  await vi.waitUntil(() => users.said.length > 0, { timeout: 10_000 });
  expect(users.said).toEqual([`Waiting for the embedded Temporal server (PID ${pid}) to answer …`]);
  const failed = await starting;
  expect(failed).toMatchObject({ errorCode: 'temporal-server-failed' });
  expect((failed as Error).message).toMatch(
    /did not start: The Temporal server at \S+ did not answer within 30 s .*run the same command again\./,
  );
  expect(isAlive(pid, null)).toBe(false);
});

it('a hanging server is ended and replaced', async () => {
  const first = await users.here(LONG);
  process.kill(first.pid, 'SIGSTOP');
  const second = await users.here(LONG);
  expect(isAlive(first.pid, null)).toBe(false);
  expect(users.said).toContain(`The embedded Temporal server was started again (PID ${second.pid}).`);
  expect(second.address).toBe(first.address);
});

it('ends the server of a folder that was deleted, also if it was made again', async () => {
  const former = await users.elsewhere(LONG);
  const supervisor = users.supervisorPid() as number;
  // The server may still write into the folder.
  rmSync(users.stateDir, { recursive: true, maxRetries: 10 });
  const { pid, address } = await users.here(LONG);
  await startWaiting(address, 'new');
  await untilGone(former.server.pid);
  await untilGone(supervisor);
  expect(await statusOf(address, 'new')).toBe('RUNNING');
  expect(readRecord(files())?.pid).toBe(pid);
});

it('a damaged database is named with the reason and a remedy, and no process stays', async () => {
  mkdirSync(users.stateDir, { recursive: true });
  writeFileSync(files().database, randomBytes(20_000));
  const failed = await users.here(400).catch((error: unknown) => error);
  expect(failed).toMatchObject({ errorCode: 'temporal-server-failed' });
  const { message } = failed as Error;
  expect(message).toContain('file is not a database');
  expect(message).toContain(`Its database ${files().database} is damaged. Move the file away`);
  expect(message).toContain(files().log);
  expect(readRecord(files())).toBeNull();
  await vi.waitUntil(() => users.supervisorPid() === undefined);
});

it('31: a database whose creation was cut short by a kill is created again', async () => {
  mkdirSync(users.stateDir, { recursive: true });
  writeFileSync(files().database, randomBytes(20_000));
  writeFileSync(files().unfinished, '');
  await users.here(LONG);
  expect(existsSync(files().unfinished)).toBe(false);
});

it('55: the server gets neither keys nor settings of ours, and only their owner may read its files', async () => {
  const canary = `canary-${randomBytes(8).toString('hex')}`;
  const here = await users.here(LONG, { ...process.env, SEARCHFLOW_API_KEY: canary, TEMPORAL_API_KEY: canary });
  const pids = [here.pid, users.supervisorPid() as number];
  for (const path of [files().database, files().log, files().record]) expect(statSync(path).mode & 0o077).toBe(0);
  if (process.platform !== 'linux') return;
  for (const pid of pids) expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain(canary);
});

it('a log above 10 MiB is emptied while the server runs', async () => {
  await users.here(400);
  appendFileSync(files().log, Buffer.alloc(11 * 1024 * 1024, '\n'));
  await vi.waitUntil(() => statSync(files().log).size < 1024 * 1024, { timeout: 10_000 });
});

it('fails with the error of the system if the state folder cannot be created', async () => {
  mkdirSync(join(users.stateDir, '..'), { recursive: true });
  writeFileSync(users.stateDir, 'a file');
  await expect(users.here(LONG)).rejects.toMatchObject({ code: expect.stringMatching(/EEXIST|ENOTDIR/) });
});
