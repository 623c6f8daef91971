import type { Report, ReportedJob } from '../../core/report/report.js';
import { count, dollars, duration, some } from '../text/amounts.js';
import { printable } from '../text/printable.js';
import {
  alarming,
  counted,
  day,
  daySums,
  minute,
  money,
  names,
  number,
  numbers,
  seconds,
  share,
  sumOf,
  text,
} from './cells.js';
import type { Page, Section } from './page.js';
import { besides, moneyOf, takenOf, unknownOf, useOf, waitsOf } from './purchase-sections.js';
import { hostsOf, misfitsOf, nullsOf, progressOf, statusOf } from './row-sections.js';

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
  const taken = takenOf(spent.day);
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
      value: dollars(spent.day.landedMicros),
      more: [
        ...besides(spent.day),
        caps.dayMicros === null
          ? 'no cap for a day'
          : `${share(taken, caps.dayMicros)} of the cap of ${dollars(caps.dayMicros)}`,
      ].join(', '),
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
    note: 'A backfill with an end has no lag: its events end with its range.',
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
