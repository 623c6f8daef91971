import { expect, it, onTestFinished } from 'vitest';
import type { Output } from '../../../dist/api/command-outputs.js';
import type { ReportWish } from '../../../dist/worker/runtime/report.js';
import { openRuntime } from '../../../dist/worker/runtime/runtime.js';
import { openJob, surroundings } from '../../support/jobs/command.js';
import { plainRows } from '../../support/jobs/folder.js';
import { openTemporal } from '../../support/temporal.js';

const gone = 'https://site-3.example/about';
const here = surroundings(openTemporal, { failureRate: 0, failures: { [gone]: 'CRAWL_NOT_FOUND' } });

const DAY_MS = 86_400_000;

it('the figures of a report equal SQL over the warehouse, the journal, and the bill of the service', async () => {
  const { folder, run, config } = openJob(here, [...plainRows(60), ['60', 'Bad', 'no url']]);
  here.sandbox.setFaults([
    { when: { nth: 1 }, do: { kind: 'status', status: 429, retryAfter: '1' } },
    { when: { nth: 2 }, do: { kind: 'reset', moment: 'after' } },
  ]);
  await run();
  const bill = here.sandbox.bill();
  const read = async (job: string | null): Promise<Output<'report'>> => {
    const runtime = await openRuntime(config);
    try {
      const now = Date.now();
      const wish: ReportWish = { job, since: now - 30 * DAY_MS, until: now + DAY_MS };
      return await runtime.report(wish);
    } finally {
      await runtime.close('now');
    }
  };
  const [known] = (await read(null)).jobs;
  const report = await read(known?.job ?? '');

  const [counts] = await folder.query<Record<string, number>>(
    `SELECT count(*)::INTEGER AS rows, (count(*) FILTER (status = 'success'))::INTEGER AS success,
       (count(*) FILTER (error_tag = 'CRAWL_NOT_FOUND'))::INTEGER AS gone, (count(*) FILTER (title IS NULL))::INTEGER AS untitled
     FROM enriched_rows WHERE vanished_at IS NULL`,
  );
  const { figures } = report;
  expect(counts).toMatchObject({ rows: 61, success: 59, gone: 1 });
  expect(report.job?.rows).toMatchObject({ rows: 61, success: 59, error: 1, invalid: 1, missing: 0 });
  expect(figures?.tags).toContainEqual({ status: 'error', tag: 'CRAWL_NOT_FOUND', rows: counts?.gone });
  expect(figures?.loads.reduce((sum, { rows }) => sum + rows, 0)).toBe(61);
  expect(figures?.nulls).toContainEqual({ column: 'title', nulls: counts?.untitled });
  const [recorded] = await folder.query<{ requests: number; micros: number }>(
    'SELECT requests::INTEGER AS requests, cost_micros::INTEGER AS micros FROM searchflow_runs',
  );
  expect(figures?.runs).toMatchObject([
    { requests: recorded?.requests, costMicros: Number(recorded?.micros), phase: 'done' },
  ]);

  // The answer of the second request was lost: the service charged for it, and the journal lists it.
  const landed = report.days.reduce((sum, { landedMicros }) => sum + landedMicros, 0);
  const lost = report.days.reduce((sum, { unknownMicros }) => sum + unknownMicros, 0);
  // A page that is gone is free; the estimate of a lost request counts it.
  expect([0, 1000]).toContain(landed + lost - bill.micros);
  expect(report.unknown).toMatchObject([{ operation: 'contents', estimateMicros: lost }]);
  const sum = (name: 'requests' | 'answered' | 'limited' | 'waitSeconds' | 'lost' | 'failed') =>
    report.activity.reduce((all, step) => all + step[name], 0);
  const sent = here.sandbox.log().filter(({ path }) => path === '/contents').length;
  expect([sum('requests'), sum('limited'), sum('waitSeconds'), sum('lost'), sum('failed')]).toEqual([sent, 1, 1, 1, 0]);
  // The charts have the time of the run, not of the 30 days.
  expect(report.active.stepMs).toBeLessThanOrEqual(600_000);
  expect(report.limits.windowMs).toBe(Math.min(60_000, report.active.stepMs));
  expect(sum('answered')).toBe(report.days[0]?.requests);

  const team = await read(null);
  expect(team.jobs).toMatchObject([{ job: known?.job, usage: { landedMicros: landed, unknownOutcomes: 1 } }]);
  expect(team.days).toEqual(report.days);
  expect(team.runs).toEqual(figures?.runs);

  const runtime = await openRuntime(config);
  onTestFinished(() => runtime.close('now'));
  const spend = await runtime.team.spend();
  for (const by of ['job', 'day', 'operation'] as const)
    expect(await spend.usage(by, Date.now() - DAY_MS, Date.now() + DAY_MS)).toMatchObject([
      { landedMicros: landed, unknownOutcomes: 1, unknownMicros: lost, openMicros: 0 },
    ]);
  expect(await runtime.jobs.list()).toMatchObject([{ job: known?.job, phase: 'done', costMicros: landed }]);
});
