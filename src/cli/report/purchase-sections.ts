import type { DayUsage } from '../../core/purchase/activity.js';
import type { Report } from '../../core/report/report.js';
import { dollars, duration, some } from '../text/amounts.js';
import { printable } from '../text/printable.js';
import {
  alarming,
  counted,
  DAY_MS,
  daySums,
  minute,
  money,
  names,
  number,
  numbers,
  share,
  sumOf,
  text,
} from './cells.js';
import { moneyChart, useChart, waitChart } from './charts.js';
import type { Section } from './page.js';

type Spent = Report['spent']['day'];

/** The amount that counts under a cap: spent, in flight and possibly charged. */
export const takenOf = ({ landedMicros, openMicros, unknownMicros }: Spent): number =>
  landedMicros + openMicros + unknownMicros;

/** The estimates that count under a cap besides the amount that was spent. */
export const besides = ({ openMicros, unknownMicros }: Spent): readonly string[] => [
  ...(openMicros > 0 ? [`and ${dollars(openMicros)} in flight (max.)`] : []),
  ...(unknownMicros > 0 ? [`and ${dollars(unknownMicros)} possibly charged`] : []),
];

const MOST_DAYS = 40;
export function moneyOf({ days, caps, spent, job }: Report): Section {
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
  const cap = (name: string, micros: number | null, period: Spent) => {
    const taken = takenOf(period);
    const under = micros === null ? 'no cap' : `${share(taken, micros)} of the cap of ${dollars(micros)}`;
    return `${name} ${[dollars(period.landedMicros), ...besides(period)].join(' ')} (${under})`;
  };
  return {
    title: 'Dollars by day and operation',
    lead: `The team has spent ${cap('today', caps.dayMicros, spent.day)}, ${cap('this month', caps.monthMicros, spent.month)}.`,
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

export function useOf({ activity, active, limits, job }: Report): Section | null {
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
    note: `Derived: each paid request counts at the time of its intent, in windows of ${windowSeconds} seconds; windows without a request do not count. Free calls, such as polls and lists of events, are not in the journal. The limit is the one that is configured today.`,
  };
}

export function waitsOf({ activity, active }: Report): Section | null {
  if (activity.length === 0) return null;
  const sums = sumOf(activity);
  const steps = [...new Set(activity.map(({ at }) => at))]
    .sort((a, b) => a - b)
    .map((at) => ({ at, sum: sumOf(activity.filter((step) => step.at === at)) }));
  return {
    title: 'Waits, 429 answers and failures',
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
      { mark: 'bad', text: 'steps with 429 answers, failures or lost answers' },
    ],
    head: [...names('requests'), ...numbers('number', 'share')],
    rows: [
      [text('sent'), counted(sums.requests), number('')],
      [text('answered'), counted(sums.answered), number(share(sums.answered, sums.requests))],
      [text('refused by the rate limit (429)'), alarming(sums.limited), number(share(sums.limited, sums.requests))],
      [text('failed otherwise, not charged'), alarming(sums.failed), number(share(sums.failed, sums.requests))],
      [text('answer lost, possibly charged'), alarming(sums.lost), number(share(sums.lost, sums.requests))],
    ],
    note: `Derived from intents, answers and misses of the journal. The 429 answers asked for waits of ${duration(sums.waitSeconds)} in all. The wait for a turn of the rate limit is not recorded; the metric searchflow_grant_wait_seconds of a worker has it.`,
  };
}

export function unknownOf({ unknown, unknownCount }: Report): Section | null {
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
