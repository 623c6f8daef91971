import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { parked } from '../../support/jobs/checks.js';
import { boughtAgain, settingOfFile } from '../../support/jobs/setting.js';
import { readDuckDb } from '../../support/warehouse/read-duckdb.js';

const file = settingOfFile({ sandbox: { latencyMs: { min: 5, max: 10 } } });

const { freshRows } = file;
/** Answers with a number of employees, of which one in ten is a word. */
const schema = (word: string) => ({
  type: 'object',
  properties: { employees: { type: 'integer', enum: [1, 2, 3, 4, 5, 6, 7, 8, 9, word] } },
});
const answers = (word = 'many') => ({
  ...{ operation: 'answer' as const, urlColumn: undefined, batch: undefined },
  ...{ template: { query: 'How many work for {{name}}?' }, options: { outputSchema: schema(word) } },
});
const wordsIn = async (into: string) => {
  const sql = `SELECT row_number::INT AS row FROM enriched_rows WHERE response->>'$.answer.employees' = 'many' ORDER BY 1`;
  return (await readDuckDb(into, sql)).map(({ row }) => row as number);
};

it('a job pauses at the first value that does not fit, and a resume accepts the values so far', async () => {
  const job = await file.setting.begin(freshRows(200), { ...answers(), onMisfit: 'stop' });
  const message = await parked(file.setting.temporal, job, 'misfit');
  expect(message).toMatch(
    /^Row \d+: the value "many" does not fit the column "employees" of type integer, so it is NULL there; the answer is kept/,
  );
  expect(message).toMatch(/To accept this value and continue to the next one: searchflow resume rows-\w+$/);
  await expect.poll(async () => (await job.progress()).landing, { timeout: 20_000 }).toBeUndefined();
  const bought = file.setting.sandbox.log().length;
  expect(bought).toBeLessThan(100);
  // The requests in flight have landed and are loaded, too.
  expect(await wordsIn(job.folder.into)).toContain(Number(message?.match(/^Row (\d+)/)?.[1]));

  await job.resume();
  await expect.poll(() => file.setting.sandbox.log().length, { timeout: 20_000 }).toBeGreaterThan(bought);
  expect(await parked(file.setting.temporal, job, 'misfit')).not.toBe(message);
  await job.resume({ onMisfit: 'perhaps' as 'keep' });
  await job.resume({ onMisfit: 'keep' });
  const { phase, warehouse } = await job.result();
  const words = await wordsIn(job.folder.into);
  expect(words.length).toBeGreaterThan(5);
  expect({ phase, warehouse }).toMatchObject({
    phase: 'done',
    warehouse: { success: 200, misfits: { employees: words.length } },
  });
  expect(boughtAgain(file.setting.sandbox)).toEqual({});
});

it('a misfit that only the database finds pauses the job when its rows are loaded', async () => {
  const job = await file.setting.begin(freshRows(40), { ...answers('1e400'), onMisfit: 'stop' });
  expect(await parked(file.setting.temporal, job, 'misfit')).toMatch(/^Row \d+: the value "1e400" does not fit/);
  // Nothing is left to buy, and the run is done once a person has accepted the value.
  expect(file.setting.sandbox.log()).toHaveLength(40);
  await job.resume();
  expect(await job.result()).toMatchObject({ phase: 'done', warehouse: { success: 40 } });
  expect(file.setting.sandbox.log()).toHaveLength(40);
});

it('a scheduled run ends as stopped, and the next one buys the rest', async () => {
  const rows = freshRows(100);
  const job = await file.setting.begin(rows, { ...answers(), onMisfit: 'stop', scheduled: true });
  expect(await job.result()).toMatchObject({
    ...{ phase: 'stopped', stoppedFor: 'misfit' },
    message: expect.stringMatching(/^Row \d+: .* the next run accepts this value and buys the rest$/),
  });
  expect(await readDuckDb(job.folder.into, 'SELECT phase, reason FROM searchflow_runs')).toEqual([
    { phase: 'stopped', reason: 'misfit' },
  ]);
  const { length: bought } = file.setting.sandbox.log();
  await (await job.again()).result();
  expect(file.setting.sandbox.log().length).toBeGreaterThan(bought);
  expect(boughtAgain(file.setting.sandbox)).toEqual({});
});

it('rows in quarantine are left out of the view, the CSV and the publish, and are found with their answer', async () => {
  const rows = freshRows(60);
  const target = mkdtempSync(join(tmpdir(), 'searchflow-quarantine-'));
  onTestFinished(() => rmSync(target, { recursive: true, force: true }));
  const job = await file.setting.begin(rows, {
    ...answers(),
    onMisfit: 'quarantine',
    publish: { to: join(target, 'lake') },
  });
  const { warehouse, phase, published } = await job.result();
  const words = await wordsIn(job.folder.into);
  expect(words.length).toBeGreaterThan(0);
  const quarantined = words.length;
  expect(published).toMatchObject({ error: null, rows: 60 - quarantined });
  expect({ phase, warehouse }).toMatchObject({
    phase: 'done',
    warehouse: { rows: 60, success: 60, missing: 0, misfits: { employees: quarantined }, quarantined },
  });
  const view = await readDuckDb(
    job.folder.into,
    'SELECT count(*)::INT AS n, count(employees)::INT AS filled FROM rows',
  );
  expect(view).toEqual([{ n: 60 - quarantined, filled: 60 - quarantined }]);
  expect(job.folder.enriched()).toHaveLength(60 - quarantined);
  const found = await readDuckDb(
    job.folder.into,
    `SELECT row_number::INT AS row, misfits, response->>'$.answer.employees' AS answer FROM quarantined_rows ORDER BY 1`,
  );
  expect(found).toEqual(words.map((row) => ({ row, misfits: 'employees (integer): many', answer: 'many' })));
  expect(await readDuckDb(job.folder.into, 'SELECT quarantined::INT AS n FROM searchflow_runs')).toEqual([
    { n: quarantined },
  ]);
  const bought = file.setting.sandbox.log().length;

  // The same job without quarantine has the rows in its view again, and buys nothing.
  const { input, into, csv } = job.folder;
  const args = [{ input, into, csv, ...answers() }];
  const workflowId = `${job.handle.workflowId}-again`;
  const { taskQueue } = file.setting.config;
  const kept = await file.setting.temporal.client.workflow.execute('enrichCsv', { workflowId, taskQueue, args });
  expect(kept).toMatchObject({ phase: 'done', requests: 0, warehouse: { success: 60 } });
  expect(kept.warehouse).not.toHaveProperty('quarantined');
  expect(job.folder.enriched()).toHaveLength(60);
  expect(await readDuckDb(into, 'SELECT count(*)::INT AS n FROM rows')).toEqual([{ n: 60 }]);
  expect(file.setting.sandbox.log()).toHaveLength(bought);
});
