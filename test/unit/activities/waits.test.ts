import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ActivityDeps, type AllActivities, createActivities } from '../../../src/activities/index.js';
import { ActivitySetting, quiet } from '../../support/activities/activity-setting.js';
import { type Handler, json, rawServer } from '../../support/api/raw-server.js';
import { idleLimiter } from '../../support/store/idle-limiter.js';

const silent: Handler = () => undefined;
const runs = json(200, { object: 'list', data: [], hasMore: false });

let setting: ActivitySetting;
const closing: (() => Promise<void>)[] = [];
beforeEach(async () => {
  setting = await ActivitySetting.open();
});
afterEach(async () => {
  vi.useRealTimers();
  for (const close of closing.splice(0)) await close();
  await setting.close();
});

/** A worker for a service that answers with `reply`. `said` has the messages of the heartbeats while an activity runs. */
async function begin(
  handler: Handler,
  run: (activities: AllActivities) => Promise<unknown>,
  change: (deps: ActivityDeps) => Partial<ActivityDeps> = () => ({}),
) {
  const server = await rawServer(handler);
  const deps = setting.worker({ baseUrl: server.url });
  const environment = quiet({ heartbeatTimeoutMs: 300 });
  let said: string | null = null;
  environment.on('heartbeat', (details: { readonly waitingFor?: string | null } | null) => {
    said = details?.waitingFor ?? null;
  });
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] });
  const ended = environment.run(() => run(createActivities({ ...deps, ...change(deps) }))).catch(() => undefined);
  closing.push(async () => {
    environment.cancel();
    await server.close();
    await ended;
  });
  const beat = () => {
    vi.advanceTimersByTime(1000);
    return said;
  };
  const waitingFor = () => expect.poll(beat, { timeout: 10_000 });
  return {
    /** The message of the next heartbeat; each attempt moves the fake clock by a second. */
    waitingFor,
    /** Waits for this many requests, then moves the fake clock by half a minute. */
    async later(requests = 1): Promise<void> {
      await expect.poll(() => server.requests.length, { timeout: 10_000 }).toBe(requests);
      vi.advanceTimersByTime(34_000);
    },
  };
}

const monitorWarehouse = (deps: ActivityDeps) => ({
  monitors: { ...deps.monitors, warehouse: async () => ({ audit: {} }) as never },
});
const step = { job: 'j', run: 'r', action: 'pause', filter: { name: 'x' }, limit: 10, into: 'm.duckdb' } as const;
const walk = { kind: 'sync', into: 'e.duckdb' } as const;
const run = { request: { query: 'q' }, call: {}, askedAt: 0 };

describe('an activity that waits for half a minute reports it in its heartbeat: the wait', () => {
  it.each([
    ['a single monitor call', (a: AllActivities) => a.callMonitor({ operation: 'getMonitor', input: { id: 'm' } })],
    ['the search for a made monitor', (a: AllActivities) => a.findMadeMonitors({ definition: {}, key: 'k' })],
    ['a call of a batch', (a: AllActivities) => a.affectMonitors({ ...step, call: 1 })],
  ])('for %s without an answer', async (_what, start) => {
    const { waitingFor, later } = await begin(silent, start, monitorWarehouse);
    await later();
    await waitingFor().toMatch(/^waiting \d+ s for 1 request$/);
  });

  it('for the service at the start of a walk', async () => {
    const warehouse = { stream: async () => null };
    const { waitingFor, later } = await begin(
      silent,
      (a) => a.openWalk(walk),
      () => ({ events: { warehouse: async () => warehouse as never } }),
    );
    await later();
    await waitingFor().toMatch(/^waiting \d+ s for 1 request$/);
  });

  it('for the warehouse at the start of a walk', async () => {
    let fail: (error: Error) => void = () => undefined;
    const opened = new Promise((_, reject) => {
      fail = reject;
    });
    const { waitingFor } = await begin(
      silent,
      (a) => a.openWalk(walk),
      () => ({ events: { warehouse: () => opened as never } }),
    );
    await waitingFor().toBe('the warehouse');
    fail(new Error('closed'));
  });

  it('for the end of a block, with its reason', async () => {
    const limiter = idleLimiter();
    await limiter.block(20_000, 'POST /search: 429');
    const { waitingFor } = await begin(
      silent,
      (a) => a.planMonitorBatch({ ...step, by: null }),
      (deps) => ({ limiter, ...monitorWarehouse(deps) }),
    );
    await waitingFor().toBe('POST /search: 429');
    await limiter.close();
  });

  it('before a retry, with the failure before it', async () => {
    const failing: Handler = (_request, socket) =>
      socket.write(json(503, { error: 'down for now' }, { 'retry-after': '20' }));
    const { waitingFor } = await begin(failing, (a) => a.planMonitorBatch({ ...step, by: null }), monitorWarehouse);
    await waitingFor().toMatch(/^GET \/monitors: 503 .*down for now/);
  });

  it('for the list of runs before the first start', async () => {
    const { waitingFor, later } = await begin(silent, (a) => a.agentRun(run));
    await later();
    await waitingFor().toMatch(/^waiting \d+ s for the list of runs$/);
  });

  it('for the list of runs after a start whose answer was lost', async () => {
    let lists = 0;
    const handler: Handler = ({ head }, socket) => {
      if (head.startsWith('POST')) socket.destroy();
      else if (lists++ === 0) socket.write(runs);
    };
    const { waitingFor, later } = await begin(handler, (a) => a.agentRun(run));
    await later(3);
    await waitingFor().toMatch(/^waiting \d+ s for the list of runs$/);
  });
});

it('an activity that does not wait reports nothing in its heartbeat', async () => {
  const { waitingFor } = await begin(silent, (a) => a.callMonitor({ operation: 'getMonitor', input: { id: 'm' } }));
  await waitingFor().toBeNull();
});
