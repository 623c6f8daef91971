import type { ActivityStep, DayUsage } from '../../core/purchase/activity.js';
import type { Report, ReportedJob } from '../../core/report/report.js';
import { count, dollars, duration, some } from '../text/amounts.js';
import { printable } from '../text/printable.js';
import { barChart, moneyChart, progressChart, useChart, waitChart } from './charts.js';
import type { Cell, Page, Section } from './page.js';

const DAY_MS = 86_400_000;

const text = (value: string | null | undefined): Cell => ({ text: printable(value ?? '–', 300) });
const number = (value: string): Cell => ({ text: value, kind: 'number' });
const counted = (value: number): Cell => number(count(value));
const alarming = (value: number): Cell => ({ text: count(value), kind: value > 0 ? 'number bad' : 'number' });
const money = (micros: number): Cell => number(dollars(micros));
const names = (...titles: readonly string[]): Cell[] => titles.map((title) => ({ text: title }));
const numbers = (...titles: readonly string[]): Cell[] => titles.map((title) => ({ text: title, kind: 'number' }));

const share = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${(Math.floor((1000 * part) / whole) / 10).toFixed(1).replace(/\.0$/, '')}%`;
const seconds = (value: number): string => (value < 10 ? `${value.toFixed(2)} s` : duration(value));
/** `2026-11-21 06:00`, in UTC. */
const minute = (at: number): string => new Date(at).toISOString().slice(0, 16).replace('T', ' ');
const day = (at: number): string => new Date(at).toISOString().slice(0, 10);

type Sums = Omit<ActivityStep, 'bucket' | 'at'>;

function sumOf(steps: readonly ActivityStep[]): Sums {
  const sum = (name: keyof Sums) => steps.reduce((all, step) => all + step[name], 0);
  const most = (name: keyof Sums) => Math.max(0, ...steps.map((step) => step[name]));
  return {
    ...{ requests: sum('requests'), units: sum('units'), active: sum('active'), busiest: most('busiest') },
    ...{ answered: sum('answered'), seconds: sum('seconds'), slowest: most('slowest'), limited: sum('limited') },
    ...{ waitSeconds: sum('waitSeconds'), failed: sum('failed'), lost: sum('lost') },
  };
}

/** Returns the page of a report. */
export function reportPage(report: Report): Page {
  const { job, origin, at } = report;
  const isSandbox = origin === 'sandbox';
  const sections = job === null ? [jobsOf(report)] : [progressOf(report), statusOf(report)];
  return {
    title: job === null ? 'Team report' : printable(job.name, 200),
    subtitle: `${day(report.since)} to ${day(report.until - 1)}, written ${minute(at)} UTC`,
    facts: factsOf(report),
    warnings: [
      ...(isSandbox ? ['The data comes from the sandbox: pages are made up, and no real money was spent.'] : []),
      ...report.missing.map((sentence) => `Some figures are missing: ${printable(sentence, 500)}`),
    ],
    figures: figuresOf(report),
    sections: [
      ...sections,
      moneyOf(report),
      useOf(report),
      waitsOf(report),
      ...(job === null ? [] : [hostsOf(report), nullsOf(report), misfitsOf(report), unknownOf(report)]),
      ...(job === null ? [eventsOf(report)] : []),
      runsOf(report),
    ].filter((section): section is Section => section !== null),
    foot: [
      'Times are UTC. Amounts are exact to a millionth of a dollar.',
      'Rows, statuses, columns, misfits and runs are counted in the warehouse. Dollars, requests and unknown outcomes come from the journal. Use of the limit, waits and slowest hosts are derived from the times of its requests.',
    ],
  };
}

function factsOf({ job, origin, team }: Report): Page['facts'] {
  const facts: [string, string | null][] = [
    ['Job', job?.job ?? null],
    ['Status', job ? `${job.phase}${job.message ? `: ${job.message}` : ''}` : null],
    ['Operation', job?.operation ?? null],
    ['Input', job?.input ?? null],
    ['Warehouse', job?.into ?? null],
    ['Service', origin],
    ['Team', team],
  ];
  return facts.flatMap(([name, value]) => (value === null ? [] : [{ name, value: printable(value) }]));
}

function figuresOf({ job, jobs, activity, days, unknownCount, caps, spent }: Report): Page['figures'] {
  const total = daySums(days);
  const sums = sumOf(activity);
  const rows = job?.rows;
  const failed = rows ? rows.error + rows.invalid : 0;
  const mean = sums.answered > 0 ? sums.seconds / sums.answered : null;
  const taken = spent.day.landedMicros + spent.day.openMicros + spent.day.unknownMicros;
  const unknown = job === null ? total.unknownOutcomes : unknownCount;
  return [
    ...(rows
      ? [
          { name: 'Rows', value: count(rows.rows), more: `${share(rows.success, rows.rows)} successful` },
          {
            name: 'Failed rows',
            value: count(failed),
            more: `${share(failed, rows.rows)} of all rows`,
            isBad: failed > 0,
          },
          {
            name: 'Not loaded yet',
            value: count(rows.missing),
            more: `${some(rows.vanished, 'row')} vanished from the input`,
          },
        ]
      : [
          {
            name: 'Jobs',
            value: count(jobs.length),
            more: `${some(jobs.filter(({ usage }) => usage).length, 'job')} bought in this time`,
          },
        ]),
    {
      name: 'Spent',
      value: dollars(total.landedMicros),
      more: total.openMicros > 0 ? `and ${dollars(total.openMicros)} in flight` : `${some(total.requests, 'answer')}`,
    },
    {
      name: 'Spent today, whole team',
      value: dollars(taken),
      more:
        caps.dayMicros === null
          ? 'no cap for a day'
          : `${share(taken, caps.dayMicros)} of the cap of ${dollars(caps.dayMicros)}`,
      isBad: caps.dayMicros !== null && taken >= caps.dayMicros,
    },
    {
      name: 'Unknown outcomes',
      value: count(unknown),
      more: unknown === 0 ? 'no answer was lost' : `at most ${dollars(total.unknownMicros)} in this time`,
      isBad: unknown > 0,
    },
    {
      name: 'Answers 429',
      value: count(sums.limited),
      more: sums.limited === 0 ? 'the limit was never exceeded' : `waits of ${duration(sums.waitSeconds)} named`,
      isBad: sums.limited > 0,
    },
    {
      name: 'Time of an answer',
      value: mean === null ? '–' : seconds(mean),
      more: mean === null ? 'no answers' : `mean; slowest ${seconds(sums.slowest)}`,
    },
  ];
}

function progressOf({ figures, active }: Report): Section | null {
  if (figures === null) return null;
  const total = figures.loads.reduce((sum, { rows }) => sum + rows, 0);
  return {
    title: 'Progress',
    lead: total === 0 ? 'No row is loaded yet.' : `${some(total, 'row')} of the current input loaded.`,
    chart: total === 0 ? null : progressChart(active, figures.loads),
    legend: [
      { mark: 'series-1', text: 'rows loaded' },
      { mark: 'bad', text: 'of these failed' },
    ],
    note: 'A row counts when its latest answer was loaded; a refreshed row moves to the later time.',
  };
}

const MOST_TAGS = 25;

function statusOf({ figures, job }: Report): Section | null {
  if (figures === null) return null;
  const { tags, summary } = figures;
  const all = tags.reduce((sum, { rows }) => sum + rows, 0);
  const label = (status: string, tag: string | null) => printable(tag === null ? status : tag, 80);
  const shown = tags.slice(0, MOST_TAGS);
  return {
    title: 'Rows by status and error',
    chart:
      shown.length === 0
        ? null
        : barChart(
            shown.slice(0, 12).map(({ status, tag, rows }) => ({
              ...{ label: label(status, tag), value: rows },
              kind: status === 'success' ? ('good' as const) : ('bad' as const),
            })),
            count,
          ),
    head: [...names('status', 'error'), ...numbers('rows', 'share')],
    rows: shown.map(({ status, tag, rows }) => [text(status), text(tag), counted(rows), number(share(rows, all))]),
    note: [
      ...(tags.length > MOST_TAGS ? [`${some(tags.length - MOST_TAGS, 'further error')} not shown.`] : []),
      ...((summary.quarantined ?? 0) > 0
        ? [`${some(summary.quarantined ?? 0, 'success', 'successes')} in quarantine.`]
        : []),
      ...((summary.discarded ?? 0) > 0
        ? [`${some(summary.discarded ?? 0, 'failed row')} of these discarded by a person.`]
        : []),
      ...(summary.missing > 0
        ? [`${some(summary.missing, 'row')} of ${count(job?.rows?.rows ?? summary.rows)} not loaded yet.`]
        : []),
    ].join(' '),
  };
}

function daySums(days: readonly DayUsage[]) {
  const sum = (name: 'requests' | 'units' | 'landedMicros' | 'openMicros' | 'unknownOutcomes' | 'unknownMicros') =>
    days.reduce((all, one) => all + one[name], 0);
  return {
    ...{ requests: sum('requests'), units: sum('units'), landedMicros: sum('landedMicros') },
    ...{ openMicros: sum('openMicros'), unknownOutcomes: sum('unknownOutcomes'), unknownMicros: sum('unknownMicros') },
  };
}

const MOST_DAYS = 40;

function moneyOf({ days, caps, spent, job }: Report): Section {
  const total = daySums(days);
  const operations = [...new Set(days.map(({ operation }) => operation))].sort();
  const times = days.map((one) => Date.parse(one.day));
  const until = Math.max(...times) + DAY_MS;
  // One bar over the whole width would look like a whole month.
  const since = Math.min(...times, until - 7 * DAY_MS);
  const bars = days.map((one) => ({
    at: Date.parse(one.day),
    operation: one.operation,
    dollars: one.landedMicros / 1e6,
  }));
  const hasUnknown = total.unknownOutcomes > 0;
  const hasOpen = total.openMicros > 0;
  const cells = (one: Omit<DayUsage, 'day' | 'operation'>) => [
    ...[counted(one.requests), counted(one.units), money(one.landedMicros)],
    ...(hasOpen ? [money(one.openMicros)] : []),
    ...(hasUnknown ? [alarming(one.unknownOutcomes), money(one.unknownMicros)] : []),
  ];
  const newest = [...days].reverse().slice(0, MOST_DAYS);
  const cap = (
    name: string,
    micros: number | null,
    { landedMicros, openMicros, unknownMicros }: Report['spent']['day'],
  ) => {
    const taken = landedMicros + openMicros + unknownMicros;
    return micros === null
      ? `${name} ${dollars(taken)} (no cap)`
      : `${name} ${dollars(taken)} of ${dollars(micros)} (${share(taken, micros)})`;
  };
  return {
    title: 'Dollars by day and operation',
    lead: `${cap('Today the team has used', caps.dayMicros, spent.day)}, ${cap('this month', caps.monthMicros, spent.month)}.`,
    chart:
      days.length === 0
        ? null
        : moneyChart(
            { since, until, stepMs: DAY_MS },
            bars,
            operations,
            caps.dayMicros === null ? null : caps.dayMicros / 1e6,
          ),
    legend: [
      ...operations.map((operation, nth) => ({ mark: `series-${(nth % 6) + 1}`, text: printable(operation, 60) })),
      ...(caps.dayMicros === null ? [] : [{ mark: 'bad', text: 'cap of a day for the team, if it is near' }]),
    ],
    head: [
      ...names('day', 'operation'),
      ...numbers(
        'answers',
        'units',
        'spent',
        ...(hasOpen ? ['in flight (max.)'] : []),
        ...(hasUnknown ? ['unknown outcomes', 'possibly charged'] : []),
      ),
    ],
    rows: [
      ...newest.map((one) => [text(one.day), text(one.operation), ...cells(one)]),
      ...(days.length > 1 ? [[text('total'), text(''), ...cells(total)]] : []),
    ],
    note: [
      days.length === 0
        ? `No purchase${job === null ? '' : ' of this job'} in this time.`
        : 'A request counts on the UTC day on which it was sent.',
      ...(days.length > MOST_DAYS ? [`The table has the newest ${MOST_DAYS} lines.`] : []),
    ].join(' '),
  };
}

function useOf({ activity, active, limits, job }: Report): Section | null {
  const used = limits.buckets.filter(({ name }) => activity.some(({ bucket }) => bucket === name));
  const [first] = [...used].sort(
    (a, b) =>
      sumOf(activity.filter(({ bucket }) => bucket === b.name)).units -
      sumOf(activity.filter(({ bucket }) => bucket === a.name)).units,
  );
  if (!first) return null;
  const windowSeconds = limits.windowMs / 1000;
  const most = (qps: number) => qps * windowSeconds;
  const steps = activity.filter(({ bucket }) => bucket === first.name);
  return {
    title: 'Use of the rate limit',
    lead: `Rate profile ${printable(limits.profile, 60)}. ${job === null ? 'Paid requests of the team' : 'Paid requests of this job'}, as a share of the bucket ${printable(first.name, 60)} (${first.qps} units a second).`,
    chart: useChart(
      active,
      steps.map(({ at, units, active: windows, busiest }) => ({
        ...{ at, mean: units / Math.max(1, windows) / most(first.qps), busiest: busiest / most(first.qps) },
      })),
    ),
    legend: [
      {
        mark: 'series-1',
        text: `mean of the windows of ${windowSeconds} seconds with requests`,
      },
      { mark: 'text', text: 'busiest of them' },
      { mark: 'bad', text: 'the limit' },
    ],
    head: [...names('bucket'), ...numbers('limit', 'requests', 'units', 'mean use', 'busiest')],
    rows: used.map(({ name, qps }) => {
      const sum = sumOf(activity.filter(({ bucket }) => bucket === name));
      return [
        ...[text(name), number(`${qps}/s`), counted(sum.requests), counted(sum.units)],
        ...[number(share(sum.units, sum.active * most(qps))), number(share(sum.busiest, most(qps)))],
      ];
    }),
    note: `Derived: each paid request counts at the time of its intent, in windows of ${windowSeconds} seconds that have a request. Free calls, such as polls and lists of events, are not in the journal. The limit is the configured one of today.`,
  };
}

function waitsOf({ activity, active }: Report): Section | null {
  if (activity.length === 0) return null;
  const sums = sumOf(activity);
  const steps = [...new Set(activity.map(({ at }) => at))]
    .sort((a, b) => a - b)
    .map((at) => ({ at, sum: sumOf(activity.filter((step) => step.at === at)) }));
  return {
    title: 'Waits, answers 429 and failures',
    chart: waitChart(
      active,
      steps.map(({ at, sum }) => ({
        ...{
          at,
          seconds: sum.answered > 0 ? sum.seconds / sum.answered : 0,
          problems: sum.limited + sum.failed + sum.lost,
        },
      })),
    ),
    legend: [
      { mark: 'series-soft', text: 'mean time from intent to answer' },
      { mark: 'bad', text: 'steps with answers 429, failures or lost answers' },
    ],
    head: [...names('requests'), ...numbers('number', 'share')],
    rows: [
      [text('sent'), counted(sums.requests), number('')],
      [text('answered'), counted(sums.answered), number(share(sums.answered, sums.requests))],
      [text('refused by the rate limit (429)'), alarming(sums.limited), number(share(sums.limited, sums.requests))],
      [text('failed otherwise, not charged'), alarming(sums.failed), number(share(sums.failed, sums.requests))],
      [text('answer lost, possibly charged'), alarming(sums.lost), number(share(sums.lost, sums.requests))],
    ],
    note: `Derived from intents, answers and misses of the journal. The answers 429 named waits of ${duration(sums.waitSeconds)} in all. The wait for a turn of the rate limit is not recorded; the metric searchflow_grant_wait_seconds of a worker has it.`,
  };
}

function hostsOf({ figures }: Report): Section | null {
  if (figures === null || figures.hosts.length === 0) return null;
  const { hosts } = figures;
  return {
    title: 'Slowest hosts',
    chart: isVaried(hosts)
      ? barChart(
          hosts.map(({ host, seconds: value }) => ({ label: printable(host, 120), value, kind: 'main' as const })),
          seconds,
        )
      : null,
    head: [...names('host'), ...numbers('mean', 'slowest', 'requests', 'rows', 'failed')],
    rows: hosts.map((one) => [
      ...[text(one.host), number(seconds(one.seconds)), number(seconds(one.slowest)), counted(one.requests)],
      ...[counted(one.rows), alarming(one.failed)],
    ]),
    note: 'Derived: the time of a request counts for each host of its rows, because one request has many pages. A host is slow if its rows are in slow requests. The newest 20,000 requests count.',
  };
}

/** Whether bars would have different lengths. */
const isVaried = (hosts: readonly { readonly seconds: number }[]): boolean =>
  (hosts[0]?.seconds ?? 0) > 1.05 * (hosts.at(-1)?.seconds ?? 0);

function nullsOf({ figures, job }: Report): Section | null {
  if (figures === null || figures.nulls.length === 0 || figures.viewRows === 0) return null;
  const { nulls, viewRows } = figures;
  const sorted = [...nulls].sort((a, b) => b.nulls - a.nulls);
  return {
    title: 'Null rate of columns',
    head: [...names('column'), ...numbers('NULL', 'share')],
    rows: sorted.map(({ column, nulls: missing }) => [
      text(column),
      counted(missing),
      number(share(missing, viewRows)),
    ]),
    note: `Of ${some(viewRows, 'row')} in the view ${printable(job?.name ?? '', 60)}. The columns of a CSV are texts and never NULL.`,
  };
}

function misfitsOf({ figures }: Report): Section | null {
  const misfits = Object.entries(figures?.summary.misfits ?? {});
  if (figures === null || misfits.length === 0) return null;
  return {
    title: 'Values that do not fit their column',
    head: [...names('column'), ...numbers('values')],
    rows: misfits.map(([column, values]) => [text(column), alarming(values)]),
    note: 'The view of the job has NULL in their place; the table misfits has the values.',
  };
}

function unknownOf({ unknown, unknownCount }: Report): Section | null {
  if (unknownCount === 0) return null;
  return {
    title: 'Unknown outcomes',
    lead: `${some(unknownCount, 'request')} of all runs got no answer and may have been charged.`,
    head: [...names('time', 'operation'), ...numbers('units', 'at most'), ...names('reason')],
    rows: unknown.map((one) => [
      ...[text(minute(one.intendedAt)), text(one.operation), counted(one.keys.length), money(one.estimateMicros)],
      text(one.reason),
    ]),
    note: unknownCount > unknown.length ? `The newest ${unknown.length} are shown.` : null,
  };
}

function eventsOf({ streams, at }: Report): Section | null {
  if (streams.length === 0) return null;
  return {
    title: 'Lag of events',
    head: [
      ...names('stream', 'warehouse', 'loaded up to'),
      ...numbers('lag'),
      ...names('last complete run'),
      ...numbers('unread windows'),
    ],
    rows: streams.map(({ stream, into, upTo, completedAt, pending }) => [
      ...[text(stream), text(into), text(upTo === null ? null : minute(upTo))],
      ...[
        number(upTo === null ? '–' : duration((at - upTo) / 1000)),
        text(completedAt === null ? null : minute(completedAt)),
      ],
      alarming(pending),
    ]),
    note: 'A backfill with an end has no lag: its time up to which events are loaded is the end of its range.',
  };
}

function runsOf({ runs, job }: Report): Section | null {
  if (runs.length === 0) return null;
  const hasJob = job === null;
  return {
    title: 'Last runs',
    head: [
      ...names(...(hasJob ? ['job'] : []), 'start', 'end'),
      ...numbers('time', 'rows', 'success', 'failed', 'not loaded', 'requests', 'cost'),
    ],
    rows: runs.map((run) => [
      ...(hasJob ? [text(run.job)] : []),
      text(`${minute(run.startedAt)}${run.scheduled ? ' (schedule)' : ''}`),
      {
        text: printable(run.phase === 'done' ? 'done' : `stopped: ${run.message ?? run.reason ?? ''}`, 200),
        ...(run.phase === 'done' ? {} : { kind: 'bad' as const }),
      },
      ...[number(duration((run.endedAt - run.startedAt) / 1000)), counted(run.rows), counted(run.success)],
      ...[alarming(run.error + run.invalid), counted(run.missing), counted(run.requests), money(run.costMicros)],
    ]),
    note: 'Runs that ended as done or stopped (table searchflow_runs). Failed and cancelled runs have no row there.',
  };
}

function jobsOf({ jobs }: Report): Section {
  const cells = ({ name, job, phase, rows, usage }: ReportedJob) => [
    text(name === job ? name : `${name} (${job})`),
    { text: printable(phase, 60), ...(phase === 'failed' || phase === 'stopped' ? { kind: 'bad' as const } : {}) },
    ...(rows
      ? [counted(rows.rows), counted(rows.success), alarming(rows.error + rows.invalid), counted(rows.missing)]
      : Array.from({ length: 4 }, () => number('–'))),
    ...(usage
      ? [counted(usage.requests), money(usage.landedMicros), alarming(usage.unknownOutcomes)]
      : [counted(0), money(0), counted(0)]),
  ];
  return {
    title: 'Jobs',
    lead: jobs.length === 0 ? 'There is no job here.' : null,
    head: [
      ...names('job', 'status'),
      ...numbers('rows', 'success', 'failed', 'not loaded', 'answers', 'spent', 'unknown outcomes'),
    ],
    rows: jobs.map(cells),
    note: 'Rows are those of the current inputs; answers, dollars and unknown outcomes are those of this time. The newest jobs are shown.',
  };
}
