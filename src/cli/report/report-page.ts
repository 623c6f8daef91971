import type { Report, ReportedJob } from '../../core/report.js';
import { count, dollars, duration, some } from '../text/amounts.js';
import { printable } from '../text/printable.js';
import {
  alarming,
  type Cell,
  cellBar,
  counted,
  lineChart,
  money,
  number,
  type Page,
  type Section,
  table,
  text,
} from './page.js';
import { besides, moneyOf, share, sumOf, takenOf, useOf, waitsOf } from './purchase-sections.js';

const seconds = (value: number): string => (value < 10 ? `${value.toFixed(2)} s` : duration(value));
/** `2026-11-21 06:00`, in UTC. */
const minute = (at: number): string => new Date(at).toISOString().slice(0, 16).replace('T', ' ');
const day = (at: number): string => minute(at).slice(0, 10);

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

const figure = (name: string, value: string, more: string, isBad = false): Page['figures'][number] => ({
  ...{ name, value, more, isBad },
});

function figuresOf({ job, jobs, activity, days, unknownCount, caps, spent }: Report): Page['figures'] {
  const total = sumOf(days);
  const sum = sumOf(activity);
  const rows = job?.rows;
  const failed = rows ? rows.error + rows.invalid : 0;
  const mean = sum('answered') > 0 ? sum('seconds') / sum('answered') : null;
  const slowest = Math.max(...activity.map((step) => step.slowest));
  const taken = takenOf(spent.day);
  const cap = caps.dayMicros;
  const open = total('openMicros');
  const unknown = job === null ? total('unknownOutcomes') : unknownCount;
  const limited = sum('limited');
  return [
    ...(rows
      ? [
          figure('Rows', count(rows.rows), `${share(rows.success, rows.rows)} successful`),
          figure('Failed rows', count(failed), `${share(failed, rows.rows)} of all rows`, failed > 0),
          figure('Not loaded yet', count(rows.missing), `${some(rows.vanished, 'row')} vanished from the input`),
        ]
      : [
          figure(
            'Jobs',
            count(jobs.length),
            `${some(jobs.filter(({ usage }) => usage).length, 'job')} bought in this time`,
          ),
        ]),
    figure(
      'Spent',
      dollars(total('landedMicros')),
      open > 0 ? `and ${dollars(open)} in flight` : some(total('requests'), 'answer'),
    ),
    figure(
      'Spent today, whole team',
      dollars(spent.day.landedMicros),
      [
        ...besides(spent.day),
        cap === null ? 'no cap for a day' : `${share(taken, cap)} of the cap of ${dollars(cap)}`,
      ].join(', '),
      cap !== null && taken >= cap,
    ),
    figure(
      'Unknown outcomes',
      count(unknown),
      unknown === 0 ? 'no answer was lost' : `at most ${dollars(total('unknownMicros'))} in this time`,
      unknown > 0,
    ),
    figure(
      'Answers 429',
      count(limited),
      limited === 0 ? 'the limit was never exceeded' : `waits of ${duration(sum('waitSeconds'))} named`,
      limited > 0,
    ),
    mean === null
      ? figure('Time of an answer', '–', 'no answers')
      : figure('Time of an answer', seconds(mean), `mean; slowest ${seconds(slowest)}`),
  ];
}

function progressOf({ figures, active }: Report): Section | null {
  if (figures === null) return null;
  const { loads } = figures;
  const until = Math.max(active.until, ...loads.map(({ at }) => at + active.stepMs));
  let [rows, failed] = [0, 0];
  const points = loads.map((load) => {
    rows += load.rows;
    failed += load.failed;
    return { at: load.at + active.stepMs, rows, failed };
  });
  const line = (colour: string, field: 'rows' | 'failed') => ({
    colour,
    points: [{ at: active.since, value: 0 }, ...points.map((point) => ({ at: point.at, value: point[field] }))],
  });
  const lines = [line('series-1', 'rows'), ...(failed > 0 ? [line('bad', 'failed')] : [])];
  return {
    title: 'Progress',
    lead: rows === 0 ? 'No row is loaded yet.' : `${some(rows, 'row')} of the current input loaded.`,
    chart: rows === 0 ? null : lineChart({ ...active, until }, lines, count),
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
  const { discarded = 0, missing } = summary;
  return {
    title: 'Rows by status and error',
    table: table(tags.slice(0, MOST_TAGS), {
      status: ({ status }) => text(status),
      error: ({ tag }) => text(tag),
      rows: ({ rows }) => counted(rows),
      share: ({ status, rows }) => ({
        ...number(share(rows, all)),
        bar: cellBar(rows / all, status === 'success' ? 'good' : 'bad'),
      }),
    }),
    note: [
      tags.length > MOST_TAGS && `${some(tags.length - MOST_TAGS, 'further error')} not shown.`,
      discarded > 0 && `${some(discarded, 'failed row')} of these discarded or forgotten by a person.`,
      missing > 0 && `${some(missing, 'row')} of ${count(job?.rows?.rows ?? summary.rows)} not loaded yet.`,
    ]
      .filter(Boolean)
      .join(' '),
  };
}

/** A section with a table of things; null without things. */
function listOf<T>(
  title: string,
  things: readonly T[],
  columns: Readonly<Record<string, (thing: T) => Cell>>,
  more: Pick<Section, 'lead' | 'note'>,
): Section | null {
  return things.length === 0 ? null : { title, table: table(things, columns), ...more };
}

function hostsOf({ figures }: Report): Section | null {
  const hosts = figures?.hosts ?? [];
  const most = Math.max(...hosts.map((host) => host.seconds)) || 1;
  return listOf(
    'Slowest hosts',
    hosts,
    {
      host: ({ host }) => text(host),
      mean: (host) => ({ ...number(seconds(host.seconds)), bar: cellBar(host.seconds / most, 'series-1') }),
      slowest: ({ slowest }) => number(seconds(slowest)),
      requests: ({ requests }) => counted(requests),
      rows: ({ rows }) => counted(rows),
      failed: ({ failed }) => alarming(failed),
    },
    {
      note: 'Derived: the time of a request counts for each host of its rows, because one request has many pages. A host is slow if its rows are in slow requests. The newest 20,000 requests count.',
    },
  );
}

function nullsOf({ figures, job }: Report): Section | null {
  const { nulls = [], viewRows = 0 } = figures ?? {};
  return listOf(
    'Null rate of columns',
    viewRows === 0 ? [] : [...nulls].sort((a, b) => b.nulls - a.nulls),
    {
      column: ({ column }) => text(column),
      NULL: (one) => counted(one.nulls),
      share: (one) => number(share(one.nulls, viewRows)),
    },
    { note: `Of ${some(viewRows, 'row')} in the view ${printable(job?.name ?? '', 60)}.` },
  );
}

const misfitsOf = ({ figures }: Report): Section | null =>
  listOf(
    'Values that do not fit their column',
    Object.entries(figures?.summary.misfits ?? {}),
    { column: ([column]) => text(column), values: ([, values]) => alarming(values) },
    { note: 'The view of the job has NULL in their place; the table misfits has the values.' },
  );

const unknownOf = ({ unknown, unknownCount }: Report): Section | null =>
  listOf(
    'Unknown outcomes',
    unknown,
    {
      time: ({ intendedAt }) => text(minute(intendedAt)),
      operation: ({ operation }) => text(operation),
      units: ({ keys }) => counted(keys.length),
      'at most': ({ estimateMicros }) => money(estimateMicros),
      reason: ({ reason }) => text(reason),
    },
    {
      lead: `${some(unknownCount, 'request')} of all runs got no answer and may have been charged.`,
      note: unknownCount > unknown.length ? `The newest ${unknown.length} are shown.` : null,
    },
  );

const eventsOf = ({ streams, at }: Report): Section | null =>
  listOf(
    'Lag of events',
    streams,
    {
      stream: ({ stream }) => text(stream),
      warehouse: ({ into }) => text(into),
      'loaded up to': ({ upTo }) => text(upTo === null ? null : minute(upTo)),
      lag: ({ upTo }) => number(upTo === null ? '–' : duration((at - upTo) / 1000)),
      'last complete run': ({ completedAt }) => text(completedAt === null ? null : minute(completedAt)),
      'unread windows': ({ pending }) => alarming(pending),
    },
    { note: 'A backfill with an end has no lag: its events end with its range.' },
  );

type Run = Report['runs'][number];

function runsOf({ runs, job }: Report): Section | null {
  if (runs.length === 0) return null;
  return {
    title: 'Last runs',
    table: table<Run>(runs, {
      ...(job === null && { job: (run: Run) => text(run.job) }),
      start: (run) => text(`${minute(run.startedAt)}${run.scheduled ? ' (schedule)' : ''}`),
      end: ({ phase, message, reason }) =>
        phase === 'done' ? text('done') : { ...text(`stopped: ${message ?? reason ?? ''}`, 200), kind: 'bad' },
      time: (run) => number(duration((run.endedAt - run.startedAt) / 1000)),
      rows: ({ rows }) => counted(rows),
      success: ({ success }) => counted(success),
      failed: ({ error, invalid }) => alarming(error + invalid),
      'not loaded': ({ missing }) => counted(missing),
      requests: ({ requests }) => counted(requests),
      cost: ({ costMicros }) => money(costMicros),
    }),
    note: 'Runs that ended as done or stopped (table searchflow_runs). Failed and cancelled runs have no row there.',
  };
}

function jobsOf({ jobs }: Report): Section {
  const ofRows = (cell: (rows: NonNullable<ReportedJob['rows']>) => Cell) => (job: ReportedJob) =>
    job.rows ? cell(job.rows) : number('–');
  return {
    title: 'Jobs',
    lead: jobs.length === 0 ? 'There is no job here.' : null,
    table: table(jobs, {
      job: ({ name, job }) => text(name === job ? name : `${name} (${job})`),
      status: ({ phase }) => ({ ...text(phase, 60), kind: phase === 'failed' || phase === 'stopped' ? 'bad' : '' }),
      rows: ofRows(({ rows }) => counted(rows)),
      success: ofRows(({ success }) => counted(success)),
      failed: ofRows(({ error, invalid }) => alarming(error + invalid)),
      'not loaded': ofRows(({ missing }) => counted(missing)),
      answers: ({ usage }) => counted(usage?.requests ?? 0),
      spent: ({ usage }) => money(usage?.landedMicros ?? 0),
      'unknown outcomes': ({ usage }) => alarming(usage?.unknownOutcomes ?? 0),
    }),
    note: 'Rows are those of the current inputs; answers, dollars and unknown outcomes are those of this time. The newest jobs are shown.',
  };
}
