import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { AgentRowsInput, JobProgress, JobSummary } from '../../../src/core/row-job-schemas.js';
import { queryNames, workflowNames } from '../../../src/core/rows/job-names.js';
import { type AgentOptions, startService } from '../../service/service.mjs';
import { closeAfterTest } from '../../support/after-test.js';
import { Folder } from '../../support/jobs/folder.js';
import { startHost } from '../../support/jobs/host.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const soon = { timeout: 30_000, interval: 20 };
/** As many runs as a job starts before the first one has ended. */
const ROWS = 10;

/** A job of agent rows on a service whose runs do not end by themselves. */
async function setting(options: AgentOptions = {}, rows = ROWS) {
  const service = await startService({ agents: { durationMs: { min: 600_000, max: 600_000 }, ...options } });
  const folder = Folder.ofTest();
  const names = Array.from({ length: rows }, (_, index) => `company ${index}`);
  writeFileSync(folder.input, `name\n${names.join('\n')}\n`);
  const config = folder.config(service.url);
  const host = await startHost(temporal, config);
  closeAfterTest(service, host);
  const input: AgentRowsInput = { input: folder.input, into: folder.into, query: 'CEO of {{name}}', effort: 'low' };
  return {
    service,
    folder,
    start: (more: Partial<AgentRowsInput> = {}) =>
      temporal.client.workflow.start(workflowNames.runAgentRows, {
        workflowId: `rows-${folder.dir}`,
        taskQueue: config.taskQueue,
        args: [{ ...input, ...more }],
      }),
    running: (number: number) => expect.poll(() => service.agents.inProgress(), soon).toBe(number),
    totals: () => host.parts.deps.journal.totals(''),
    endAll: () => {
      for (const run of service.agents.runs.values()) run.endsAt = 0;
    },
  };
}

const cancelled = { cause: { name: 'CancelledFailure' } };

describe('cancelling a job of agent rows', () => {
  it('ends all its runs, counts their cost, and the same job started again buys their rows', async () => {
    const { service, folder, start, running, totals, endAll } = await setting();
    const handle = await start();
    await running(ROWS);
    await handle.cancel();
    await expect(handle.result()).rejects.toMatchObject(cancelled);
    expect(service.agents.inProgress()).toBe(0);
    expect(await totals()).toMatchObject({ requests: ROWS, openMicros: 0, costMicros: ROWS * 250_000, unknown: [] });
    const again = await start();
    await running(ROWS);
    endAll();
    expect((await again.result()) as JobSummary).toMatchObject({ phase: 'done', unknownOutcomes: 0 });
    expect(service.agents.starts).toHaveLength(2 * ROWS);
    const states = await folder.query<{ status: string; n: string }>(
      'SELECT status, count(*)::TEXT AS n FROM enriched_rows GROUP BY ALL',
    );
    expect(states).toEqual([{ status: 'success', n: String(ROWS) }]);
  });

  it('ends within 15 s although no run ends, and the same job started again follows them', async () => {
    const { service, start, running, totals, endAll } = await setting({ keepsRunning: true });
    const handle = await start();
    await running(ROWS);
    const since = performance.now();
    await handle.cancel();
    await expect(handle.result()).rejects.toMatchObject(cancelled);
    expect(performance.now() - since).toBeLessThan(15_000);
    const { message } = await handle.query<JobProgress>(queryNames.progress);
    expect(message).toContain(`${ROWS} more did not end and are left running`);
    expect(await totals()).toMatchObject({ requests: 0, openMicros: ROWS * 25_000, unknown: [] });
    const again = await start();
    endAll();
    expect((await again.result()) as JobSummary).toMatchObject({ phase: 'done', unknownOutcomes: 0 });
    expect(service.agents.starts).toHaveLength(ROWS);
  });
});

it('a job of agent rows whose runs take longer than --max-run-time leaves them running, fails their rows as RUN_OVERDUE, and follows the same runs with --retry-failed', async () => {
  const { service, folder, start, totals, endAll } = await setting();
  const first = (await (await start({ maxRunSeconds: 2 })).result()) as JobSummary;
  expect(first).toMatchObject({
    phase: 'done',
    unknownOutcomes: 0,
    warehouse: { error: ROWS, tags: { RUN_OVERDUE: ROWS } },
  });
  expect(service.agents.inProgress()).toBe(ROWS);
  const messages = await folder.query<{ error_message: string }>(
    'SELECT error_message FROM enriched_rows ORDER BY row_number',
  );
  expect(messages[0]?.error_message).toMatch(/^the run agent_run_\d+ has not ended after 0 min and is left running/);
  expect(await totals()).toMatchObject({ openMicros: ROWS * 25_000 });
  endAll();
  const again = (await (await start({ maxRunSeconds: 60, retryFailed: true })).result()) as JobSummary;
  expect(again).toMatchObject({ phase: 'done', requests: ROWS, warehouse: { success: ROWS } });
  expect(service.agents.starts).toHaveLength(ROWS);
  expect(await totals()).toMatchObject({ openMicros: 0, costMicros: ROWS * 250_000 });
});
