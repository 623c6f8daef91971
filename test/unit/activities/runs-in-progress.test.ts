import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { agentRunKind } from '../../../src/activities/run-kinds.js';
import { RunsInProgress } from '../../../src/activities/runs-in-progress.js';
import { createTransport } from '../../../src/api/transport.js';
import { flatProfile } from '../../../src/core/rate.js';
import { Secret } from '../../../src/core/secret.js';
import { MemoryLimiter } from '../../../src/store/memory-limiter.js';

interface Run {
  readonly id: string;
  status: string;
  readonly createdAt: string;
}

const nobody = new Set<string | null>();
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

/** A service with a list of runs, newest first. */
async function open(runs: Run[]) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://service');
    asked.push(url.pathname);
    const id = url.pathname.split('/')[3];
    const from = Number(url.searchParams.get('cursor') ?? 0);
    const to = from + Number(url.searchParams.get('limit') ?? 100);
    const found = runs.find((run) => run.id === id);
    const more = to < runs.length;
    const body = id
      ? (found ?? { error: { code: 'RUN_NOT_FOUND', message: 'no such run' } })
      : { object: 'list', data: runs.slice(from, to), hasMore: more, nextCursor: more ? String(to) : null };
    response.writeHead(id && !found ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const transport = createTransport({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    apiKey: new Secret('key'),
  });
  const limiter = new MemoryLimiter(flatProfile(1000));
  onTestFinished(async () => {
    vi.useRealTimers();
    await transport.close();
    await limiter.close();
    server.closeAllConnections();
    server.close();
  });
  return { asked, seen: new RunsInProgress({ transport, limiter }, agentRunKind) };
}

const ended = (count: number, minutes: number): Run[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `ended_${minutes}_${index}`,
    status: 'completed',
    createdAt: minutesAgo(minutes),
  }));

it('finds a run that has gone on for two hours behind five hundred ended ones, when it looks first', async () => {
  const long = { id: 'long', status: 'running', createdAt: minutesAgo(120) };
  const { seen } = await open([...ended(500, 1), long, ...ended(2000, 600)]);
  expect((await seen.read(nobody))?.inProgress).toEqual(['long']);
});

it('reads no further than runs may still be going on', async () => {
  const { seen, asked } = await open([...ended(50, 1), ...ended(2000, 600)]);
  await seen.read(nobody);
  expect(asked).toHaveLength(1);
});

it('keeps a run that newer ones pushed off the pages until it has ended', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const long = { id: 'long', status: 'running', createdAt: minutesAgo(1) };
  const runs = [long, ...ended(500, 600)];
  const { seen, asked } = await open(runs);
  expect((await seen.read(nobody))?.inProgress).toEqual(['long']);
  runs.unshift(...ended(600, 0.1));
  asked.splice(0);
  expect((await seen.read(nobody))?.inProgress).toEqual(['long']);
  expect(asked).not.toContain('/agent/runs/long');
  vi.setSystemTime(Date.now() + 60_000);
  expect((await seen.read(nobody))?.inProgress).toEqual(['long']);
  expect(asked).toContain('/agent/runs/long');
  long.status = 'completed';
  vi.setSystemTime(Date.now() + 60_000);
  expect((await seen.read(nobody))?.inProgress).toEqual([]);
  asked.splice(0);
  await seen.read(nobody);
  expect(asked).not.toContain('/agent/runs/long');
});

it('leaves runs that have a place here to those who hold it', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const runs = [{ id: 'ours', status: 'running', createdAt: minutesAgo(1) }];
  const { seen, asked } = await open(runs);
  await seen.read(new Set(['ours']));
  runs.unshift(...ended(600, 0.1));
  vi.setSystemTime(Date.now() + 60_000);
  expect((await seen.read(new Set(['ours'])))?.inProgress).toEqual([]);
  expect(asked).not.toContain('/agent/runs/ours');
});
