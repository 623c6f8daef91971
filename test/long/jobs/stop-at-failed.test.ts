import { expect, it } from 'vitest';
import type { Fault } from '../../../src/sandbox/index.js';
import { parked } from '../../support/jobs/checks.js';
import { boughtAgain, settingOfFile } from '../../support/jobs/setting.js';
import { readDuckDb } from '../../support/warehouse/read-duckdb.js';

const file = settingOfFile({ sandbox: { latencyMs: { min: 5, max: 10 } } });

const { freshRows } = file;
/** The answers to these requests lack their first page, and are charged. */
const lost = (when: Fault['when']): Fault => ({ when, do: { kind: 'results', change: 'lose' } });
const limit = { percent: 20, after: 20 };

it('a job pauses after the first answers if too many failed, and buys nothing more until a resume counts again', async () => {
  const job = await file.setting.begin(freshRows(200), { batch: 1, stopAtFailed: limit }, [lost({ every: 2 })]);
  const message = await parked(file.setting.temporal, job, 'failed');
  expect(message).toMatch(
    /^10 of 20 answers failed \(50%\), most often with NO_CONTENT \(10\); the job pauses if 20% of at least 20 answers fail\./,
  );
  expect(message).toMatch(/To accept these failures and count again: searchflow resume rows-\w+$/);
  // Exactly the first answers were bought, although four requests may be in flight.
  expect(file.setting.sandbox.log()).toHaveLength(20);
  await expect.poll(async () => (await job.progress()).landing, { timeout: 20_000 }).toBeUndefined();
  expect(await job.progress()).toMatchObject({ stopAtFailed: limit, failed: 10, rowsDone: 20 });
  const loaded = await readDuckDb(job.folder.into, 'SELECT count(*)::INT AS n FROM row_store WHERE status IS NOT NULL');
  expect(loaded).toEqual([{ n: 20 }]);

  await job.resume();
  await expect.poll(() => file.setting.sandbox.log().length, { timeout: 20_000 }).toBeGreaterThan(20);
  await parked(file.setting.temporal, job, 'failed');
  expect(file.setting.sandbox.log()).toHaveLength(40);

  await job.resume({ stopAtFailed: 'none' });
  expect(await job.result()).toMatchObject({ phase: 'done', warehouse: { rows: 200, success: 100, error: 100 } });
  expect(boughtAgain(file.setting.sandbox)).toEqual({});
});
