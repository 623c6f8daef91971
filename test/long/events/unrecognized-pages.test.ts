import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { fetchPage } from '../../../src/activities/events/follow-cursor.js';
import { createTransport } from '../../../src/api/transport.js';
import { Secret } from '../../../src/core/connections/secret.js';
import { flatProfile } from '../../../src/core/limiter/rate.js';
import { BodyMemory } from '../../../src/core/purchase/body-memory.js';
import { startSandbox } from '../../../src/sandbox/index.js';
import { MemoryLimiter } from '../../../src/store/limiter/memory-limiter.js';
import { expectAll } from '../../support/events/expect-all.js';
import { WalkSetting } from '../../support/events/walk-setting.js';
import { openTemporal } from '../../support/temporal.js';

// Waits take no time here; between ten attempts they would take a minute.
vi.mock('node:timers/promises', async (original) => ({
  ...(await original<typeof import('node:timers/promises')>()),
  setTimeout: (_ms: number, value: unknown) => Promise.resolve(value),
}));

let temporal: TestWorkflowEnvironment;
beforeAll(async () => {
  temporal = await openTemporal();
});
afterAll(() => temporal?.teardown());

const portal = (nth: number) => ({ when: { nth }, do: { kind: 'body' as const, body: '<html>Sign in</html>' } });

it('fault 57: pages that a portal answers in the middle of a walk are requested again', async () => {
  const setting = await WalkSetting.open(temporal, {
    count: 1200,
    from: '2025-01-01T00:00:00.000Z',
    to: '2025-02-01T00:00:00.000Z',
  });
  try {
    setting.sandbox.setFaults([2, 3, 4].map(portal));
    expect(await (await setting.sync({ parallel: 1 })).result()).toMatchObject({ phase: 'done', added: 1200 });
    await expectAll(setting);
  } finally {
    await setting.close();
  }
});

it('fault 57: a walk pauses for a person at a page that a portal answers ten times in a row', async () => {
  const sandbox = await startSandbox({ events: { count: 10 } });
  sandbox.setFaults([{ when: {}, do: portal(1).do }]);
  const transport = createTransport({ baseUrl: sandbox.url, apiKey: new Secret('key-of-the-tests') });
  const deps = { transport, limiter: new MemoryLimiter(flatProfile(1000)), origin: 'sandbox', events: null as never };
  const { signal } = new AbortController();
  const options = { signal, careful: false, space: new BodyMemory(), waits: () => undefined };
  await expect(fetchPage(deps, {}, options)).rejects.toMatchObject({
    name: 'ServiceUnrecognized',
    message: expect.stringContaining('the answer is not JSON'),
  });
  expect(sandbox.log()).toHaveLength(10);
  await transport.close();
  await sandbox.close();
});
