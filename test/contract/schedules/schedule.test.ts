import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { runText } from '../../../dist/cli/schedules.js';
import { RowJobHandle } from '../../../dist/worker/control/job-handle.js';
import { ScheduleControl } from '../../../dist/worker/schedules/schedule-control.js';
import type { EnrichCsvInput, JobProgress, JobSummary } from '../../../src/core/row-job-schemas.js';
import type { ScheduledOutcome } from '../../../src/core/workflow-result-schemas.js';
import type { Fault } from '../../../src/sandbox/index.js';
import { Folder, plainRows } from '../../support/jobs/folder.js';
import { boughtAgain, settingOfFile } from '../../support/jobs/setting.js';

// Each test makes several runs of a schedule, and the machine may be busy.
vi.setConfig({ testTimeout: 120_000 });

const { temporal, setting } = settingOfFile({ sandbox: { latencyMs: 10 } });

const soon = { timeout: 30_000, interval: 30 };
const yearly = { cron: '0 0 1 1 *', tz: 'UTC' };
let jobs = 0;

/** A file of rows, and the schedule of a job on it. */
function begin(rows: number, changes: Partial<EnrichCsvInput> = {}, faults: readonly Fault[] = []) {
  const folder = new Folder();
  // The rows have URLs that no other job here has bought.
  folder.write(plainRows(rows, 1000 * ++jobs));
  setting.sandbox.reset();
  setting.sandbox.setFaults(faults);
  const { client } = temporal;
  const control = new ScheduleControl({ client, config: setting.config, shared: false, allow: async () => undefined });
  const name = folder.dir.replace(/\W+/g, '-').slice(1);
  const { input, into } = folder;
  const job: EnrichCsvInput = { input, urlColumn: 'url', into, batch: 10, ...changes };
  const workflowId = `enrich-${folder.dir}`;
  const work = { workflow: 'enrichCsv', workflowId, input: job } as const;
  onTestFinished(async () => {
    await control.remove(name).catch(() => undefined);
    rmSync(folder.dir, { recursive: true, force: true });
  });
  return {
    folder,
    control,
    name,
    work,
    workflowId,
    put: (timing: Parameters<typeof control.put>[2] = yearly) => control.put(name, work, timing),
    /** Triggers a run of the schedule and waits for its end. */
    async run(): Promise<ScheduledOutcome & { summary: JobSummary }> {
      const handle = client.schedule.getHandle(`searchflow-schedule-${name}`);
      const before = (await handle.describe()).info.numActionsTaken;
      await control.trigger(name);
      await expect.poll(async () => (await handle.describe()).info.numActionsTaken, soon).toBe(before + 1);
      const last = (await handle.describe()).info.recentActions.at(-1)?.action.workflow;
      return (await client.workflow
        .getHandle(last?.workflowId ?? '', last?.firstExecutionRunId)
        .result()) as ScheduledOutcome & { summary: JobSummary };
    },
  };
}

it('a run reports the columns of the file that were added or removed since the last run', async () => {
  const { folder, put, run, control, name } = begin(10);
  await put();
  const first = await run();
  expect(first.summary.warehouse).not.toHaveProperty('schemaChanges');
  const lines = readFileSync(folder.input, 'utf8').trim().split('\n');
  const changed = lines
    .map((line, index) => `${line},${index === 0 ? 'city' : 'Rome'}`)
    .join('\n')
    .replace('name', 'firm');
  writeFileSync(folder.input, `${changed}\n`);
  const changes = [
    { of: 'input', name: 'firm', change: 'added' },
    { of: 'input', name: 'city', change: 'added' },
    { of: 'input', name: 'name', change: 'removed' },
  ];
  const second = await run();
  expect(second.summary).toMatchObject({ phase: 'done', requests: 0, warehouse: { rows: 10, schemaChanges: changes } });
  expect((await control.show(name)).runs.map((one) => runText(one))[0]).toContain(
    'schema changed (input column "firm" added, input column "city" added, input column "name" removed)',
  );
  expect((await run()).summary.warehouse).not.toHaveProperty('schemaChanges');
});

it('fault 13: a run without budget stops, and the next runs continue with the rest until all is bought once', async () => {
  const { folder, control, name, put, run } = begin(50, { maxCostDollars: 0.02 });
  await put();
  const first = await run();
  expect(first).toMatchObject({
    phase: 'stopped',
    message: expect.stringMatching(/The next run continues with the same budget$/),
  });
  expect(first.summary).toMatchObject({ phase: 'stopped', stoppedFor: 'budget', costMicros: 20_000 });
  expect(first.summary.warehouse.missing).toBeGreaterThan(0);
  const phases: string[] = [];
  do phases.push((await run()).phase);
  while (phases.at(-1) === 'stopped' && phases.length < 5);
  expect(phases).toEqual(['stopped', 'done']);
  expect((await control.show(name)).runs.map(({ phase }) => phase)).toEqual(['done', 'stopped', 'stopped']);
  expect((await folder.warehouseRows()).filter(({ status }) => status === 'success')).toHaveLength(50);
  expect(setting.sandbox.bill().micros).toBe(50_000);
  expect(boughtAgain(setting.sandbox)).toEqual({});
});

it('fault 12: a run whose key is refused stops, and the next run continues with another key', async () => {
  const refused: Fault = { when: { every: 1 }, do: { kind: 'status', status: 401, tag: 'INVALID_API_KEY' } };
  const { put, run } = begin(20, {}, [refused]);
  await put();
  expect(await run()).toMatchObject({
    phase: 'stopped',
    message: expect.stringMatching(/SEARCHFLOW_API_KEY\. The next run continues$/),
    summary: { stoppedFor: 'key', costMicros: 0 },
  });
  setting.sandbox.setFaults([]);
  expect(await run()).toMatchObject({ phase: 'done', message: null, summary: { phase: 'done', costMicros: 20_000 } });
});

it('fault 27: a run is skipped while a command runs the job, and the next one finds nothing to buy', async () => {
  const { put, run, work, workflowId } = begin(20);
  await put();
  const byHand = await temporal.client.workflow.start('enrichCsv', {
    workflowId,
    taskQueue: setting.config.taskQueue,
    args: [{ ...work.input, maxCostDollars: 0.01 }],
  });
  // The job has used up its budget and waits, so the scheduled run is skipped.
  const phase = async () => (await byHand.query<JobProgress>('progress')).phase;
  await expect.poll(phase, soon).toBe('paused');
  expect(await run()).toMatchObject({
    phase: 'skipped',
    summary: null,
    message: expect.stringContaining('is already running'),
  });
  await byHand.signal('resume', { maxCostDollars: 'none' });
  expect(((await byHand.result()) as JobSummary).costMicros).toBe(20_000);
  expect(await run()).toMatchObject({ phase: 'done', summary: { costMicros: 0 } });
  expect(boughtAgain(setting.sandbox)).toEqual({});
});

it.each([
  ['syncEvents', 'events'],
  ['exportMonitorRuns', 'monitors'],
  ['syncAgentRuns', 'runs'],
] as const)('a schedule runs %s in the same way', async (workflow, count) => {
  const { folder, control, name, workflowId, run } = begin(1);
  const input = { into: folder.into, origin: 'sandbox' };
  await control.put(name, { workflow, workflowId, input }, yearly);
  const first = await run();
  expect(first).toMatchObject({ phase: 'done', summary: { into: folder.into, [count]: expect.any(Number) } });
  expect(await run()).toMatchObject({ phase: 'done', summary: { added: 0 } });
});

it('a run shows which rows it covers, and leaves the job complete for a later command', async () => {
  const { folder, name, put, run, workflowId } = begin(20);
  await put();
  const { summary } = await run();
  const { memo } = await temporal.client.workflow.getHandle(workflowId).describe();
  const entry = JSON.parse(readFileSync(join(setting.config.stateDir, 'jobs', `${summary.job}.json`), 'utf8'));
  expect(memo).toEqual({ generation: entry.completed, schedule: name, startedBy: 'searchflow' });
  expect(entry.completed).toMatch(/^[0-9a-f]{12}$/);
  expect(await folder.query('SELECT generation, scheduled, phase FROM searchflow_runs')).toEqual([
    { generation: entry.completed, scheduled: true, phase: 'done' },
  ]);
});

it('a run whose file is gone fails with the reason, shown for schedule and job, and the next run continues', async () => {
  const { folder, control, name, put, run, workflowId } = begin(10);
  const job = new RowJobHandle(temporal.client, 'x', workflowId);
  await put();
  rmSync(folder.input);
  await expect(run()).rejects.toThrow();
  const message = `${folder.input} does not exist`;
  expect((await control.show(name)).runs[0]).toMatchObject({ phase: 'failed', message });
  expect(await job.end()).toMatchObject({ phase: 'failed', message });
  folder.write(plainRows(10, 1000 * jobs));
  expect(await run()).toMatchObject({ phase: 'done', summary: { warehouse: { success: 10 } } });
  expect(await job.end()).toMatchObject({ phase: 'done' });
});

it('a cancelled run ends its job, and paid requests land', async () => {
  const { control, name, put, run, workflowId } = begin(50);
  await put();
  setting.sandbox.setFaults([{ when: { every: 1 }, do: { kind: 'drip', bytes: 400, everyMs: 200 } }]);
  await control.trigger(name);
  await expect.poll(() => setting.sandbox.log().length, soon).toBeGreaterThan(0);
  // The server may describe a schedule only seconds later, when the run is done. The job names its run at once.
  const { raw } = await temporal.client.workflow.getHandle(workflowId).describe();
  await temporal.client.workflow.getHandle(raw.workflowExecutionInfo?.parentExecution?.workflowId ?? '').cancel();
  await expect.poll(async () => (await control.show(name)).runs[0]?.phase, soon).toBe('cancelled');
  setting.sandbox.setFaults([]);
  expect(await run()).toMatchObject({ phase: 'done' });
  expect(boughtAgain(setting.sandbox)).toEqual({});
});

it('a run that is terminated cancels its job', async () => {
  const { control, name, put, workflowId } = begin(10, { origin: 'https://elsewhere.example' });
  await put();
  await control.trigger(name);
  const job = temporal.client.workflow.getHandle(workflowId);
  const status = async () => (await job.describe().catch(() => null))?.status.name;
  await expect.poll(status, soon).toBe('RUNNING');
  await temporal.client.workflow.getHandle((await control.show(name)).runs[0]?.workflowId ?? '').terminate();
  await expect.poll(status, soon).toMatch(/^(CANCELLED|TERMINATED)$/);
  expect(await status()).toBe('CANCELLED');
});

it('a backfill runs for each time in its range, one after the other, and buys nothing twice', async () => {
  const { control, name, put } = begin(20);
  await put({ everyMs: 3_600_000 });
  const until = Date.UTC(2026, 0, 2, 3, 30);
  expect(await control.backfill(name, until - 3 * 3_600_000, until)).toBe(3);
  const phases = async () => (await control.show(name)).runs.map(({ phase }) => phase);
  await expect.poll(phases, soon).toEqual(['done', 'done', 'done']);
  expect(setting.sandbox.bill().micros).toBe(20_000);
});
