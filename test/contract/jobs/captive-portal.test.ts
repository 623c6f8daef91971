import { expect, it, onTestFinished } from 'vitest';
import type { Fault } from '../../../src/sandbox/index.js';
import { boughtAgain, settingOfFile } from '../../support/jobs/setting.js';

const { setting, freshRows } = settingOfFile({ sandbox: { latencyMs: { min: 20, max: 40 } } });

const PORTAL = '<!doctype html><title>Sign in to the network</title>';
const soon = { timeout: 30_000, interval: 50 };
const portal = (body: string, nth: number): Fault => ({ when: { nth }, do: { kind: 'body', body } });

it('fault 57: a portal that answers every call in mid-job pauses it, and a resume finishes it without losing a row', async () => {
  const { sandbox } = setting;
  onTestFinished(() => sandbox.setFaults([]));
  const rows = freshRows(300);
  const job = await setting.begin(
    rows,
    {},
    Array.from({ length: 60 }, (_, nth) => portal(PORTAL, nth + 6)),
  );
  await expect.poll(async () => (await job.progress()).pausedFor, soon).toBe('service');
  await expect.poll(async () => (await job.progress()).landing ?? false, soon).toBe(false);
  const { message, next } = await job.progress();
  // Answers of before the portal may come between its own.
  expect(message).toMatch(
    /^(The last \d+|\d+ of the first \d+) answers have nothing usable: POST .*: the answer is not JSON/,
  );
  expect(next?.command).toMatch(/^resume /);
  // Two such answers in a row pause the job; the requests in flight are answered, too.
  const refused = sandbox.log().filter((entry) => entry.fault === 'body').length;
  expect(refused).toBeGreaterThanOrEqual(2);
  expect(refused).toBeLessThanOrEqual(30);
  sandbox.setFaults([]);
  await job.resume();
  expect(await job.result()).toMatchObject({
    phase: 'done',
    requests: 30,
    unknownOutcomes: refused,
    warehouse: { rows: 300, success: 300, error: 0 },
  });
  expect(job.folder.outcomes()).toEqual(rows.map((row) => [row, 'success']));
  expect(sandbox.bill()).toMatchObject({ units: 300 });
  expect(boughtAgain(sandbox)).toEqual({});
});
