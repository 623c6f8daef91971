import { createServer, type Server } from 'node:http';
import { describe, it, type TestContext, vi } from 'vitest';
import { agentRunKind, RunFollower } from '../../../src/activities/runs/run-follower.js';
import type { AgentRun } from '../../../src/api/schemas/agent-run-schemas.js';
import { createTransport, type Transport } from '../../../src/api/transport.js';
import { Secret } from '../../../src/core/connections/secret.js';
import type { Limiter } from '../../../src/core/limiter/limiter.js';
import { flatProfile } from '../../../src/core/limiter/rate.js';
import { ODD_POLLS } from '../../../src/core/rows/stop-at-failed.js';
import { MemoryLimiter } from '../../../src/store/limiter/memory-limiter.js';
import { listen } from '../../support/sandbox/listen.js';

interface World {
  readonly follower: RunFollower<AgentRun>;
  readonly transport: Transport;
  readonly polls: string[];
  readonly runs: Map<string, string>;
  next(answer: { status: number; body: unknown; headers?: Record<string, string> }): void;
}

/** A service with runs of these ids. It gives the answers in `next` first. */
async function open({ onTestFinished }: TestContext, ids: readonly string[]): Promise<World> {
  const runs = new Map(ids.map((id) => [id, 'running']));
  const polls: string[] = [];
  const answers: { status: number; body: unknown; headers?: Record<string, string> }[] = [];
  const server: Server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0] as string;
    polls.push(path);
    const id = path.split('/')[3];
    const reply = answers.shift();
    // Status 0 stands for a request that gets no answer.
    if (reply?.status === 0) return;
    const found = id === undefined ? null : runs.get(id);
    const record = (one: string) => ({ id: one, object: 'agent_run', status: runs.get(one) });
    const body =
      reply?.body ??
      (id === undefined
        ? { object: 'list', data: [...runs.keys()].map(record), hasMore: false, nextCursor: null }
        : found === undefined
          ? { error: { code: 'RUN_NOT_FOUND', message: 'no such run' } }
          : record(id));
    response.writeHead(reply?.status ?? (found === undefined ? 404 : 200), {
      'content-type': 'application/json',
      ...reply?.headers,
    });
    response.end(JSON.stringify(body));
  });
  const url = await listen(server);
  const transport: Transport = createTransport({
    baseUrl: url,
    apiKey: new Secret('key'),
  });
  const limiter = new MemoryLimiter(flatProfile(100));
  onTestFinished(async () => {
    await transport.close();
    await limiter.close();
    server.closeAllConnections();
    server.close();
  });
  return {
    follower: new RunFollower({ transport, limiter }, agentRunKind),
    transport,
    polls,
    runs,
    next: (answer) => answers.push(answer),
  };
}

const follow = ({ follower }: World, id: string, signal = new AbortController().signal, onPoll?: () => void) =>
  follower.follow(id, { startedAt: Date.now(), signal, ...(onPoll ? { onPoll } : {}) });

// The polls wait, so the tests run in parallel.
describe.concurrent('runs that are followed', () => {
  it('end with their last record, also with an unknown status and a sign of the end', async (context) => {
    const { expect } = context;
    const world = await open(context, ['a']);
    const record = { id: 'a', status: 'expired_unknown', completedAt: '2026-01-01T00:00:00Z' };
    for (const status of ['in_progress', 'pending']) world.next({ status: 200, body: { id: 'a', status } });
    world.next({ status: 200, body: record });
    expect((await follow(world, 'a')).run).toMatchObject(record);
  });

  it.for([
    ['an unknown status without a sign of the end', { id: 'a', status: 'pondering' }],
    ['the id of another run', { id: 'b', status: 'completed' }],
  ])('are given up after a few polls with %s', async ([, body], context) => {
    const { expect } = context;
    const world = await open(context, ['a']);
    for (let poll = 0; poll < ODD_POLLS; poll++) world.next({ status: 200, body });
    await expect(follow(world, 'a')).rejects.toMatchObject({ facts: { wrongShape: true } });
    expect(world.polls).toHaveLength(ODD_POLLS);
  });

  it('are polled by one list, however many there are', async (context) => {
    const { expect } = context;
    const ids = Array.from({ length: 40 }, (_, index) => `run${index}`);
    const world = await open(context, ids);
    let polled = 0;
    const ends = ids.map((id) =>
      follow(world, id, undefined, () => {
        if (++polled === 40) for (const one of ids) world.runs.set(one, 'completed');
      }),
    );
    expect((await Promise.all(ends)).map(({ run }) => run?.status)).toEqual(ids.map(() => 'completed'));
    const single = world.polls.filter((path) => path !== '/agent/runs').length;
    expect(single).toBe(40);
    expect(world.polls.length - single).toBeLessThan(6);
  });

  it('that the service no longer knows end without a record, but only after several polls', async (context) => {
    const { expect } = context;
    const world = await open(context, []);
    expect((await follow(world, 'gone')).run).toBeNull();
    expect(world.polls.length).toBe(3);
  });

  it.sequential('fault 49: are polled on time though the clock goes back by an hour', async (context) => {
    const { expect, onTestFinished } = context;
    const world = await open(context, ['a']);
    const now = Date.now;
    const followed = follow(world, 'a', undefined, () => {
      vi.spyOn(Date, 'now').mockImplementation(() => now() - 3_600_000);
      world.runs.set('a', 'completed');
    });
    onTestFinished(() => void vi.restoreAllMocks());
    expect((await followed).run?.status).toBe('completed');
    expect(world.polls).toHaveLength(2);
  });

  it('survive failed polls', async (context) => {
    const { expect } = context;
    const world = await open(context, ['a']);
    world.runs.set('a', 'completed');
    world.next({ status: 500, body: { error: { code: 'INTERNAL', message: 'x' } } });
    world.next({ status: 429, body: { error: { code: 'CONCURRENCY_LIMIT_REACHED', message: 'x' } } });
    world.next({ status: 200, body: 'no run' });
    expect((await follow(world, 'a')).run?.status).toBe('completed');
    expect(world.polls).toHaveLength(4);
  });

  it('end on time although the poll of another one is not answered', async (context) => {
    const { expect } = context;
    const world = await open(context, ['silent', 'b', 'c', 'd', 'e', 'f']);
    world.runs.set('silent', 'completed');
    world.next({ status: 0, body: null });
    const stop = new AbortController();
    const silent = follow(world, 'silent', stop.signal).catch(() => 'left');
    await expect.poll(() => world.polls).toEqual(['/agent/runs/silent']);
    for (const id of ['b', 'c']) world.runs.set(id, 'completed');
    const ends = await Promise.all(['b', 'c'].map((id) => follow(world, id)));
    expect(ends.map(({ run }) => run?.status)).toEqual(['completed', 'completed']);
    for (const id of ['d', 'e', 'f']) world.runs.set(id, 'completed');
    await Promise.all(['d', 'e', 'f'].map((id) => follow(world, id)));
    stop.abort(new Error('left'));
    expect(await silent).toBe('left');
  });

  it('are still polled after the service reported that they take too long', async (context) => {
    const { expect } = context;
    const world = await open(context, ['a']);
    world.runs.set('a', 'completed');
    world.next({ status: 500, body: { error: { code: 'TIMEOUT', message: 'the run a takes too long' } } });
    expect((await follow(world, 'a')).run?.status).toBe('completed');
  });

  it('end with the error if the error does not come from the service', async (context) => {
    const { expect } = context;
    const ids = ['a', 'b', 'c', 'd', 'e'];
    const world = await open(context, ids);
    const away = { acquire: () => Promise.reject(new Error('the store is away')) } as unknown as Limiter;
    const follower = new RunFollower({ transport: world.transport, limiter: away }, agentRunKind);
    const ends = Promise.allSettled(ids.map((id) => follow({ ...world, follower }, id)));
    expect((await ends).map(({ status }) => status)).toEqual(ids.map(() => 'rejected'));
  });

  it('fail if the key is refused, and are not polled after the last follower left', async (context) => {
    const { expect } = context;
    const world = await open(context, ['a']);
    world.next({ status: 401, body: { error: 'no', tag: 'INVALID_API_KEY' } });
    await expect(follow(world, 'a')).rejects.toMatchObject({ verdict: { type: 'Unauthorized' } });
    const stop = new AbortController();
    const left = follow(world, 'a', stop.signal, () => stop.abort(new Error('enough')));
    await expect(left).rejects.toThrow('enough');
  });
});
