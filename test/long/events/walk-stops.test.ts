import { expect, it } from 'vitest';
import { expectAll } from '../../support/events/expect-all.js';
import { walkSettings } from '../../support/events/walk-setting.js';
import { openTemporal } from '../../support/temporal.js';

const soon = { timeout: 30_000, interval: 50 };
const walks = walkSettings(openTemporal);
const { open } = walks;

/** No activity runs between a load and its fold for a moment, so the loads that are not folded are asked for again. */
const expectFolded = () =>
  expect
    .poll(() => walks.setting.query('SELECT load_id FROM event_loads WHERE in_state = 0'), { ...soon, interval: 500 })
    .toEqual([]);

it('a walk folds everything that it loaded, if a window fails', async () => {
  await open({ count: 4000 });
  walks.setting.sandbox.setFaults([{ when: { nth: 12 }, do: { kind: 'status', status: 401 }, limit: 1 }]);
  const run = await walks.setting.sync({ parallel: 1 });
  await expect.poll(async () => (await run.progress()).pausedFor, soon).toBe('key');
  await expect.poll(run.activities, soon).toBe(0);
  expect((await walks.setting.ids()).size).toBeGreaterThan(1000);
  await expectFolded();
  await run.cancel();
});

it('a walk survives temporary failures: 500s, lost connections, truncated answers, pages of a portal (fault 57) and a Retry-After', async () => {
  await open(
    { count: 3000 },
    {
      faults: [
        { when: { every: 7 }, do: { kind: 'status', status: 500 } },
        { when: { every: 11 }, do: { kind: 'reset', moment: 'after' } },
        { when: { every: 13 }, do: { kind: 'truncate', fraction: 0.5 } },
        { when: { nth: 9 }, do: { kind: 'status', status: 429, retryAfter: '1' } },
        ...[2, 3, 4].map((nth) => ({ when: { nth }, do: { kind: 'body' as const, body: '<html>Sign in</html>' } })),
      ],
    },
  );
  expect(await (await walks.setting.sync()).result()).toMatchObject({ phase: 'done', added: 3000 });
  walks.setting.sandbox.setFaults([]);
  await expectAll(walks.setting);
});
