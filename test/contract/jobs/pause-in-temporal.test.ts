import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { it, type TestContext } from 'vitest';
import { soon } from '../../support/jobs/checks.js';
import { Folder } from '../../support/jobs/folder.js';
import { startHost } from '../../support/jobs/host.js';
import { listen } from '../../support/sandbox/listen.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const PAGES = 60;
const MONITORS = 120;
const at = (nth: number) => new Date(1_790_000_000_000 - 1000 * nth).toISOString();
const pageOf = (nth: number, of: number, data: readonly object[]) => ({
  data,
  hasMore: nth + 1 < of,
  nextCursor: nth + 1 < of ? String(nth + 1) : null,
});
const run = (id: string, over: boolean) => ({
  ...{ id, object: 'agent_run', status: over ? 'completed' : 'running', createdAt: at(0), request: { query: 'q' } },
  ...(over ? { stopReason: 'schema_satisfied', output: { text: 'done' }, costDollars: { total: 0.1 } } : {}),
});

/** A service that answers after 50 ms, and counts the requests. An agent run ends when `end` is called. */
async function openService({ onTestFinished }: TestContext) {
  const seen: string[] = [];
  let isOver = false;
  const answer = (method: string, url: URL): object => {
    const [, first, id, more] = url.pathname.split('/');
    const nth = Number(url.searchParams.get('cursor') ?? 0);
    if (first === 'agent' && method === 'POST') return run('agent_run_one', false);
    if (url.pathname === '/agent/runs')
      return pageOf(nth, PAGES, [{ ...run(`agent_run_${nth}`, true), createdAt: at(nth) }]);
    if (first === 'agent') return run('agent_run_one', isOver);
    if (first === 'monitors' && more === 'runs') return pageOf(0, 1, []);
    if (first === 'monitors' && id === undefined)
      return pageOf(
        0,
        1,
        Array.from({ length: MONITORS }, (_, n) => ({ id: `monitor-${n}`, name: `m${n}`, status: 'active' })),
      );
    throw new Error(`an unexpected request: ${method} ${url.pathname}`);
  };
  const server = createServer((request, response) => {
    request.resume();
    seen.push(`${request.method} ${request.url}`);
    const body = JSON.stringify(answer(request.method ?? '', new URL(request.url ?? '', 'http://x')));
    setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end(body), 50);
  });
  const url = await listen(server);
  onTestFinished(() => void server.close());
  const end = () => {
    isOver = true;
  };
  return { url, seen, end };
}

const kinds: Readonly<Record<string, { readonly type: string; args(folder: Folder): readonly unknown[] }>> = {
  'a sync of agent runs': { type: 'syncAgentRuns', args: ({ into }) => [{ into }] },
  'an export of monitor runs': { type: 'exportMonitorRuns', args: ({ into }) => [{ into }] },
  'an agent run': { type: 'runAgent', args: () => [{ query: 'who leads acme', effort: 'low' }] },
};

// Each workflow has a service and a worker of its own and mostly waits, so the tests run in parallel.
it.concurrent.for(Object.keys(kinds))(
  '%s sends nothing while its activity is paused in Temporal, and ends after it',
  async (kind, context) => {
    const { expect, onTestFinished } = context;
    const { type, args } = kinds[kind] as (typeof kinds)[string];
    const [service, folder] = [await openService(context), new Folder()];
    const config = folder.config(service.url, { rate: { qps: 40 } });
    const host = await startHost(temporal, config);
    onTestFinished(async () => {
      await host.stop();
      folder.remove();
    });
    const options = { workflowId: `${type}-${randomUUID()}`, taskQueue: config.taskQueue, args: [...args(folder)] };
    const handle: WorkflowHandle = await temporal.client.workflow.start(type, options);
    const result = handle.result();
    await expect.poll(() => service.seen.length, soon).toBeGreaterThan(5);

    const pending = async () => (await handle.describe()).raw.pendingActivities?.[0];
    const request = {
      namespace: temporal.namespace,
      execution: { workflowId: handle.workflowId },
      identity: 'a person',
    };
    const { workflowService } = temporal.client;
    // An activity may end before its pause reaches it; then the next one is paused. A further attempt means that the paused one has ended,
    // so its requests in flight have landed.
    const firstAttempts = new Map<string, number>();
    await expect
      .poll(async () => {
        const { activityId: id = '', attempt = 0, paused } = (await pending()) ?? {};
        if (!paused) {
          await workflowService.pauseActivity({ ...request, id }).catch(() => undefined);
          firstAttempts.set(id ?? '', attempt ?? 0);
        }
        return paused && (attempt ?? 0) > (firstAttempts.get(id ?? '') ?? Number.POSITIVE_INFINITY);
      }, soon)
      .toBe(true);
    const { activityId: id } = (await pending()) ?? {};
    const sent = service.seen.length;
    await delay(2000);
    expect((await pending())?.activityId).toBe(id);
    expect(service.seen.length).toBe(sent);
    service.end();
    await workflowService.unpauseActivity({ ...request, id });
    await result;
    if (type !== 'runAgent') expect(service.seen.length).toBeGreaterThan(sent);
    expect(service.seen.filter((one) => one === 'POST /agent/runs')).toHaveLength(type === 'runAgent' ? 1 : 0);
  },
);
