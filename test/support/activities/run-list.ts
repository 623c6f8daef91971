import { createServer } from 'node:http';
import { onTestFinished, vi } from 'vitest';
import { createTransport } from '../../../src/api/transport.js';
import { Secret } from '../../../src/core/connections/secret.js';
import { flatProfile } from '../../../src/core/limiter/rate.js';
import { MemoryLimiter } from '../../../src/store/limiter/memory-limiter.js';
import { listen } from '../sandbox/listen.js';

export interface Run {
  readonly id: string;
  status: string;
  readonly createdAt: string;
}

export const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

/**
 * A service with a list of runs, newest first, and the dependencies to read the list. `clockAheadMs`: how far the service's clock is ahead
 * of ours.
 */
export async function openRunList(runs: readonly Run[], clockAheadMs = 0) {
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
    response.writeHead(id && !found ? 404 : 200, {
      'content-type': 'application/json',
      date: new Date(Date.now() + clockAheadMs).toUTCString(),
    });
    response.end(JSON.stringify(body));
  });
  const url = await listen(server);
  const transport = createTransport({
    baseUrl: url,
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
  return { asked, transport, limiter };
}
