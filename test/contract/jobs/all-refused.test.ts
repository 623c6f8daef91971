import { expect, it } from 'vitest';
import type { Fault } from '../../../src/sandbox/index.js';
import { parked } from '../../support/jobs/checks.js';
import { settingOfFile } from '../../support/jobs/setting.js';

const file = settingOfFile({ sandbox: { latencyMs: { min: 5, max: 10 } } });

const { freshRows } = file;
/** A fault of every request: the service refuses an option of the job. */
const always: Fault = { when: {}, do: { kind: 'status', status: 400, tag: 'INVALID_REQUEST_BODY' } };

it('a job pauses where the service refuses its first requests alike, and a resume buys all rows once that is mended', async () => {
  const rows = freshRows(40);
  const job = await file.setting.begin(rows, {}, [always]);
  const message = await parked(file.setting.temporal, job, 'request');
  expect(message).toMatch(/^POST \/contents: 400 Bad Request \(INVALID_REQUEST_BODY\)/);
  expect(message).toMatch(
    /The service refused \d+ requests and accepted none of this run; the job has 40 rows\. Correct/,
  );
  expect(message).toMatch(/: searchflow resume \S+ --skip-refused$/);
  expect(file.setting.sandbox.log().length).toBeLessThan(80);
  expect(await job.totals(file.setting.host())).toMatchObject({ requests: 0, unitsLanded: 0 });
  // A resume without `skipRefused` sends the requests again and pauses again.
  await job.resume();
  await expect.poll(async () => (await job.progress()).pausedFor, { timeout: 20_000 }).toBe('request');
  await parked(file.setting.temporal, job, 'request');
  file.setting.sandbox.setFaults([]);
  await job.resume();
  expect(await job.result()).toMatchObject({ phase: 'done', warehouse: { rows: 40, success: 40, error: 0 } });
});

it.each([{ limit: 5 }, { limit: 5, batch: 1 }, { limit: 1 }])(
  'a job of few rows pauses if all are refused: %j',
  async (how) => {
    const job = await file.setting.begin(freshRows(20), how, [always]);
    const message = await parked(file.setting.temporal, job, 'request');
    expect(message).toContain(`accepted none of this run; the job has ${how.limit} row`);
    file.setting.sandbox.setFaults([]);
    await job.resume();
    expect(await job.result()).toMatchObject({ phase: 'done', warehouse: { success: how.limit, error: 0 } });
  },
);
