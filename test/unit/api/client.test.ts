import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createClient } from '../../../src/api/client.js';
import type { Limiter, RateCost } from '../../../src/core/limiter/limiter.js';
import { flatProfile } from '../../../src/core/limiter/rate.js';
import { clientOf, type Handler, json } from '../../support/api/raw-server.js';
import { idleView } from '../../support/idle-view.js';

/** A limiter that grants every call at once and records the calls. */
function recordingLimiter(starts: ('go' | 'blocked')[] = []) {
  const costs: RateCost[] = [];
  const blocks: number[] = [];
  const queued: RateCost[] = [];
  const limiter: Limiter = {
    async acquire(rateCost, signal) {
      signal?.throwIfAborted();
      costs.push(rateCost);
      return { rateCost, startAt: 0, reservedAt: 0 };
    },
    start: async () => starts.shift() ?? 'go',
    block: async (ms) => void blocks.push(ms),
    unblock: async () => undefined,
    queued: (rateCost) => void queued.push(rateCost),
    view: async () => idleView(flatProfile(1)),
    close: async () => undefined,
  };
  return { limiter, costs, blocks, queued };
}

const ok: Handler = (_request, socket) => socket.write(json(200, { results: [{ title: 'x' }] }));

describe('the plain client', () => {
  test('offers each operation as a typed function', async () => {
    const { server, client } = await clientOf(ok);
    const pages = await client.getContents({ urls: ['https://a.example'], text: true });
    const found = await client.search({ query: 'q' });
    expect(pages.data.results[0]?.title?.length).toBe(1);
    expect(found.data.results).toHaveLength(1);
    expect(server.requests.map(({ path }) => path)).toEqual(['/contents', '/search']);
    expect(inspect(client, { depth: 9, showHidden: true })).not.toContain('canary');
  });

  test('takes a turn for each call, and another one if a block began meanwhile', async () => {
    const { limiter, costs } = recordingLimiter(['blocked', 'go']);
    const { server, client } = await clientOf(ok, { limiter });
    await client.search({ query: 'q', type: 'deep' });
    expect(costs).toEqual(Array(2).fill({ rateClass: 'search.deep', weight: 1 }));
    expect(server.requests).toHaveLength(1);
  });

  test('takes no turn for a request that is refused', async () => {
    const { limiter, costs } = recordingLimiter();
    const { client } = await clientOf(ok, { limiter });
    await expect(client.getContents({ urls: [] })).rejects.toThrow('urls: must have at least 1 entry');
    expect(costs).toEqual([]);
  });

  test('makes all callers wait after a 429 as long as the service asks, and tries once', async () => {
    const { limiter, blocks } = recordingLimiter();
    const waits = ['2', '999999', 'soon'];
    const { server, client } = await clientOf(
      (_request, socket, nth) => socket.write(json(429, {}, { 'retry-after': waits[nth - 1] ?? '' })),
      { limiter },
    );
    for (const _wait of waits) await expect(client.search({ query: 'q' })).rejects.toThrow('429');
    expect(blocks.slice(0, 2)).toEqual([2000, 999_999_000]);
    expect(blocks[2]).toBeGreaterThan(70);
    expect(blocks[2]).toBeLessThan(130);
    expect(server.requests).toHaveLength(3);
  });

  test('reports to the limiter that the service had queued a call', async () => {
    const { limiter, queued } = recordingLimiter();
    const said = ['true', 'false', 'true'];
    const { client } = await clientOf(
      (_request, socket, nth) => socket.write(json(200, { results: [] }, { 'x-svc-queued': said[nth - 1] ?? '' })),
      { limiter },
    );
    for (const type of ['auto', 'auto', 'deep']) await client.search({ query: 'q', type });
    expect(queued.map(({ rateClass }) => rateClass)).toEqual(['search', 'search.deep']);
  });

  test('sends nothing once its signal is aborted', async () => {
    const { limiter } = recordingLimiter();
    const { server, client } = await clientOf(ok, { limiter });
    const signal = AbortSignal.abort();
    const aborted = { name: 'ApiError', aborted: true, verdict: { charged: 'never' } };
    await expect(client.search({ query: 'q' }, { signal })).rejects.toMatchObject(aborted);
    const stream = client.streamAnswer({ query: 'q' }, { signal });
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject(aborted);
    expect(server.connections()).toBe(0);
  });

  test('takes two units for an agent start and none for polling, which still waits for its turn', async () => {
    const { limiter, costs } = recordingLimiter(['go', 'blocked', 'go', 'go']);
    const run = json(200, { id: 'agent_run_1', status: 'running', data: [] });
    const { server, client } = await clientOf((_request, socket) => socket.write(run), { limiter });
    await client.createAgentRun({ query: 'q' });
    await client.getAgentRun({ id: 'agent_run_1' });
    await client.listAgentRuns({});
    expect(costs.map(({ rateClass, weight }) => [rateClass, weight])).toEqual([
      ['agent', 2],
      ['agent', 0],
      ['agent', 0],
      ['agent', 0],
    ]);
    expect(server.requests).toHaveLength(3);
  });

  test('takes a turn for a stream when it is read, and makes all callers wait after its 429', async () => {
    const { limiter, costs, blocks } = recordingLimiter();
    const { client } = await clientOf((_request, socket) => socket.write(json(429, {}, { 'retry-after': '4' })), {
      limiter,
    });
    const stream = client.streamAgentRun({ query: 'q' });
    expect(costs).toEqual([]);
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({ verdict: { type: 'RateLimited' } });
    expect([costs, blocks]).toEqual([[{ rateClass: 'agent', weight: 2 }], [4000]]);
  });

  test('takes a turn for each page of a list', async () => {
    const { limiter, costs } = recordingLimiter();
    const { client } = await clientOf(
      (_request, socket, nth) =>
        socket.write(json(200, { data: [], hasMore: nth < 3, nextCursor: nth < 3 ? `${nth}` : null })),
      { limiter },
    );
    for await (const _monitor of client.each.listMonitors({}));
    expect(costs).toEqual(Array(3).fill({ rateClass: 'default', weight: 1 }));
  });
});

test('a base URL that would send the key to another host in plain text is refused', () => {
  for (const baseUrl of ['http://api.example.com', 'http://localhost.example.com/v2', 'http://10.0.0.7:8080'])
    expect(() => createClient({ apiKey: 'canary-7f3a9c-key', baseUrl })).toThrow(/must begin with https/);
});
