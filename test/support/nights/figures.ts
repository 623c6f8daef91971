import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { LoggedCall } from '../../service/service.mjs';
import type { Nights, NotedAlert } from './nights.js';
import { NIGHTS } from './plan.js';

interface Row {
  readonly row: number | null;
  readonly url: string | null;
  readonly status: string;
  readonly tag: string | null;
  readonly request: string | null;
  readonly micros: number;
  readonly gone: boolean;
}

interface Run {
  readonly run: string;
  readonly scheduled: boolean;
  readonly phase: string;
  readonly reason: string | null;
  readonly rows: number;
  readonly failed: number;
  readonly requests: number;
  readonly micros: number;
}

interface Sums {
  readonly requests: number;
  readonly dollars: number;
  readonly unknownOutcomes: number;
  readonly unknownDollars: number;
}

interface FigureReport {
  readonly job: { readonly job: string; readonly phase: string; readonly rows: Readonly<Record<string, number>> };
  readonly days: readonly {
    readonly day: string;
    readonly operation: string;
    readonly requests: number;
    readonly landedDollars: number;
    readonly unknownOutcomes: number;
    readonly unknownDollars: number;
  }[];
  readonly activity: readonly Readonly<
    Record<'requests' | 'answered' | 'limited' | 'waitSeconds' | 'lost' | 'failed', number>
  >[];
  readonly unknownCount: number;
  readonly unknown: readonly { readonly units: number }[];
  readonly figures: {
    readonly tags: readonly { readonly status: string; readonly tag: string | null; readonly rows: number }[];
    readonly loads: readonly { readonly rows: number; readonly failed: number }[];
    readonly viewRows: number;
    readonly nulls: readonly { readonly column: string; readonly nulls: number }[];
    readonly runs: readonly {
      readonly run: string;
      readonly phase: string;
      readonly requests: number;
      readonly costDollars: number;
    }[];
  };
}

const micros = (dollars: number): number => Math.round(dollars * 1e6);
const sumOf = <T>(all: readonly T[], value: (one: T) => number): number =>
  all.reduce((sum, one) => sum + value(one), 0);

function counted<T>(all: readonly T[], name: (one: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const one of all) counts[name(one)] = (counts[name(one)] ?? 0) + 1;
  return counts;
}

/** Compares the figures of each command with SQL over the warehouse and with the bill of the service. No worker is running. */
export async function checkFigures(nights: Nights): Promise<void> {
  const rows = await nights.query<Row>(
    `SELECT row_number::INTEGER AS row, url, status, error_tag AS tag, request_id AS request, cost_micros::INTEGER AS micros,
       vanished_at IS NOT NULL AS gone FROM enriched_rows ORDER BY row_number`,
  );
  const report = await nights.json<FigureReport>(['report', 'nightly']);
  const here = rows.filter(({ gone }) => !gone);
  checkRows(report, here, rows.length - here.length);
  await checkNulls(nights, report);
  await checkMoney(nights, report, rows);
  checkRequests(nights, report);
  await checkRuns(nights, report);
  await checkFailed(nights, here);
  await checkTraces(nights, here);
  await checkPage(nights);
}

function checkRows({ job, figures }: FigureReport, here: readonly Row[], vanished: number): void {
  const { success = 0, error = 0, invalid = 0 } = counted(here, ({ status }) => status);
  expect(job.phase).toBe('done');
  expect(job.rows).toMatchObject({ rows: here.length, success, error, invalid, missing: 0, vanished });
  const tags = Object.fromEntries(figures.tags.map(({ status, tag, rows }) => [`${status} ${tag}`, rows]));
  expect(tags).toEqual(counted(here, ({ status, tag }) => `${status} ${tag}`));
  expect(sumOf(figures.loads, ({ rows }) => rows)).toBe(here.length);
  expect(sumOf(figures.loads, ({ failed }) => failed)).toBe(error + invalid);
}

async function checkNulls(nights: Nights, { figures }: FigureReport): Promise<void> {
  const columns = figures.nulls.map(({ column }) => column);
  expect(columns).toEqual(expect.arrayContaining(['error_tag', 'title', 'text', 'summary']));
  const [found] = await nights.query<Record<string, number>>(
    `SELECT count(*)::INTEGER AS "all rows", ${columns.map((name) => `(count(*) FILTER (WHERE "${name}" IS NULL))::INTEGER AS "${name}"`).join(', ')} FROM nightly`,
  );
  const { 'all rows': all, ...nulls } = found ?? {};
  expect(figures.viewRows).toBe(all);
  expect(Object.fromEntries(figures.nulls.map(({ column, nulls }) => [column, nulls]))).toEqual(nulls);
}

/** Requests whose answer the service charged for and that no row has: their answers were lost. */
async function checkMoney(nights: Nights, report: FigureReport, rows: readonly Row[]): Promise<void> {
  const { service } = nights;
  const bill = service.purchases.report();
  const landed = new Set(rows.map(({ request }) => request));
  const charges = [...service.purchases.byRequest()].filter(([, charge]) => charge > 0);
  const lost = charges.filter(([id]) => !landed.has(id));
  const lostMicros = sumOf(lost, ([, charge]) => charge);
  const landedMicros = sumOf(report.days, (day) => micros(day.landedDollars));
  const unknownMicros = sumOf(report.days, (day) => micros(day.unknownDollars));
  expect(landedMicros + lostMicros).toBe(bill.micros);
  expect(lostMicros).toBeLessThanOrEqual(unknownMicros);
  expect(lost.length).toBeLessThanOrEqual(report.unknownCount);
  // Only units without an answer were bought again.
  for (const [unit, times] of service.purchases.chargedAgain()) {
    const without = service.log.filter(({ ids, requestId }) => ids.includes(unit) && !landed.has(requestId)).length;
    expect(times, unit).toBeLessThanOrEqual(without);
  }
  expect(new Set(report.days.map(({ operation }) => operation))).toEqual(new Set(['contents']));

  const byDay = await nights.json<{ lines: readonly (Sums & { day: string })[]; total: Sums }>([
    'usage',
    '--by',
    'day',
  ]);
  expect(byDay.lines.map(({ day, dollars, unknownDollars }) => [day, dollars, unknownDollars])).toEqual(
    report.days.map(({ day, landedDollars, unknownDollars }) => [day, landedDollars, unknownDollars]),
  );
  const unknown = { unknownOutcomes: report.unknownCount, unknownDollars: unknownMicros / 1e6 };
  expect(byDay.total).toMatchObject({ dollars: landedMicros / 1e6, ...unknown });
  for (const by of ['job', 'operation']) {
    const { lines } = await nights.json<{ lines: readonly Sums[] }>(['usage', '--by', by]);
    expect(lines).toMatchObject([{ dollars: landedMicros / 1e6, ...unknown }]);
  }
  const table = await nights.query<{ outcomes: number; estimate: number }>(
    'SELECT count(DISTINCT id)::INTEGER AS outcomes, sum(estimate_micros)::INTEGER AS estimate FROM unknown_outcomes',
  );
  expect(table).toEqual([{ outcomes: report.unknownCount, estimate: unknownMicros }]);
  const jobs = await nights.json<readonly { job: string; phase: string; rows: number; dollars: number }[]>(['jobs']);
  expect(jobs).toMatchObject([{ job: report.job.job, phase: 'done', dollars: landedMicros / 1e6 }]);
  const team = await nights.json<Pick<FigureReport, 'days'>>(['report', 'team']);
  expect(team.days).toEqual(report.days);
  const compared = await nights.command(['usage', '--reconcile', '--since', '2d'], [0], {
    SEARCHFLOW_SERVICE_KEY: service.serviceKey,
    SEARCHFLOW_KEY_ID: service.bill.idOf(service.key),
    SEARCHFLOW_BILL_URL: service.url,
  });
  expect(compared.code).toBe(0);
}

const paid = ({ path }: LoggedCall): boolean => path === '/contents';

function checkRequests(nights: Nights, { activity, unknownCount }: FigureReport): void {
  const calls = nights.service.log.filter(paid);
  const withStatus = (from: number, to: number) =>
    calls.filter(({ status }) => status !== null && status >= from && status <= to).length;
  const sum = (name: keyof FigureReport['activity'][number]) => sumOf(activity, (step) => step[name]);
  const limited = withStatus(429, 429);
  expect(sum('limited')).toBe(limited);
  expect(sum('waitSeconds')).toBe(limited);
  expect(sum('lost')).toBe(unknownCount);
  expect(sum('requests')).toBe(sum('answered') + sum('limited') + sum('failed') + sum('lost'));
  // An intent whose worker was killed may not have reached the service.
  expect(sum('requests') - calls.length).toBeGreaterThanOrEqual(0);
  expect(sum('requests') - calls.length).toBeLessThanOrEqual(unknownCount);
}

async function checkRuns(nights: Nights, { figures }: FigureReport): Promise<void> {
  const runs = await nights.query<Run>(
    `SELECT run, scheduled, phase, reason, rows::INTEGER AS rows, (error + invalid)::INTEGER AS failed, requests::INTEGER AS requests,
       cost_micros::INTEGER AS micros FROM searchflow_runs ORDER BY ended_at DESC`,
  );
  expect(runs.length).toBeGreaterThanOrEqual(NIGHTS);
  expect(figures.runs.map((one) => [one.run, one.phase, one.requests, micros(one.costDollars)])).toEqual(
    runs.slice(0, figures.runs.length).map((one) => [one.run, one.phase, one.requests, one.micros]),
  );
  // Each end of a run has one alert with the figures of the run.
  const ends = (await nights.alerts()).filter(({ type }) => type === 'job.done' || type === 'job.stopped');
  const of = new Map(ends.map((alert: NotedAlert) => [String(alert.data.run), alert]));
  expect(of.size).toBe(ends.length);
  expect([...of.keys()].sort()).toEqual(runs.map(({ run }) => run).sort());
  for (const { run, phase, reason, scheduled, rows, failed, requests, micros: cost } of runs) {
    const { type, data } = of.get(run) as NotedAlert;
    expect({ type, ...data }).toMatchObject({
      ...{ type: `job.${phase}`, scheduled, rows, failedRows: failed, requests, dollars: cost / 1e6 },
      ...(reason === null ? {} : { reason }),
    });
  }
}

async function checkFailed(nights: Nights, here: readonly Row[]): Promise<void> {
  const wrong = here.filter(({ status }) => status !== 'success');
  const failed = await nights.json<{
    rows: number;
    byTag: readonly { tag: string; rows: number }[];
    listed: readonly { row: number; unit: string; attempts: number; dollars: number; status: string }[];
  }>(['failed', 'nightly', '--limit', '1000']);
  expect(failed.rows).toBe(wrong.length);
  expect(Object.fromEntries(failed.byTag.map(({ tag, rows }) => [tag, rows]))).toEqual(
    counted(wrong, ({ tag }) => `${tag}`),
  );
  expect(failed.listed.map(({ row }) => row).sort((a, b) => a - b)).toEqual(wrong.map(({ row }) => row));
  for (const { unit, attempts, dollars, status } of failed.listed) {
    expect(dollars).toBe(0);
    if (status === 'error') expect(attempts, unit).toBeGreaterThanOrEqual(callsOf(nights, unit).length);
  }
}

const callsOf = (nights: Nights, url: string) =>
  nights.service.log.filter((call) => paid(call) && (call.body as { urls?: readonly string[] })?.urls?.includes(url));

async function checkTraces(nights: Nights, here: readonly Row[]): Promise<void> {
  const lost = new Set([...nights.service.purchases.chargedAgain().keys()]);
  // Rows of each kind: bought twice, slow, gone, without a URL, and some others.
  const kinds = [
    ({ url }: Row) => lost.has(url ?? ''),
    ({ url }: Row) => url?.includes('/slow') ?? false,
    ({ url }: Row) => url?.includes('/gone') ?? false,
    ({ status }: Row) => status === 'invalid',
    ({ row }: Row) => row !== null && row % 40 === 1,
  ];
  const chosen = new Set(kinds.flatMap((isOf) => here.filter(isOf).slice(0, 3)));
  expect(chosen.size).toBeGreaterThan(8);
  for (const { row, url, status, request } of chosen) {
    const trace = await nights.json<{
      unit: string | null;
      state: string;
      requests: number;
      dollars: number;
      attempts: readonly { outcome: string; requestId: string | null; requestDollars: number }[];
      loaded: { requestId: string | null; status: string } | null;
    }>(['trace', 'nightly', '--row', String(row)]);
    if (status === 'invalid') {
      expect(trace).toMatchObject({ state: 'invalid', requests: 0, attempts: [] });
      continue;
    }
    const calls = callsOf(nights, url ?? '');
    const ids = new Set(calls.map(({ requestId }) => requestId));
    expect(trace).toMatchObject({ unit: url, loaded: { requestId: request, status } });
    expect(trace.requests).toBeGreaterThanOrEqual(calls.length);
    for (const { outcome, requestId, requestDollars } of trace.attempts) {
      if (requestId !== null) expect([...ids]).toContain(requestId);
      if (outcome !== 'landed') continue;
      expect(micros(requestDollars)).toBe(nights.service.purchases.byRequest().get(requestId ?? '') ?? 0);
    }
    expect(trace.attempts.at(-1)).toMatchObject({ outcome: 'landed', requestId: request });
    expect(trace.dollars).toBe(status === 'success' ? 0.001 : 0);
  }
}

/** The page itself: it is written, small, and names the sums. */
async function checkPage(nights: Nights): Promise<void> {
  await nights.command(['report', 'nightly', '--out', 'nightly.html']);
  const html = readFileSync(join(nights.folder.dir, 'nightly.html'), 'utf8');
  expect(html.length).toBeLessThan(1_000_000);
  expect(html).not.toContain('NaN');
  expect(html).not.toContain('undefined');
}
