import type { ActivityStep, DayUsage } from '../../core/purchase/activity.js';
import type { Report } from '../../core/report.js';
import { dollars, duration } from '../text/amounts.js';
import { printable } from '../text/printable.js';
import { alarming, barChart, type Cell, counted, heatStrip, money, number, type Section, table, text } from './page.js';

const DAY_MS = 86_400_000;

/** A share with one decimal, rounded. `0%` and `100%` are exact. */
export function share(part: number, whole: number): string {
  if (whole === 0) return '–';
  const tenths = Math.round((1000 * part) / whole);
  if (tenths === 0 && part > 0) return '<0.1%';
  const shown = part < whole ? Math.min(tenths, 999) : tenths;
  return `${(shown / 10).toFixed(1).replace(/\.0$/, '')}%`;
}

/** The sum of each numeric field of records. */
export function sumOf<T extends ActivityStep | DayUsage>(list: readonly T[]): (field: keyof T) => number {
  return (field) => list.reduce((sum, one) => sum + Number(one[field]), 0);
}

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
  const operations = [...new Set(days.map(({ operation }) => operation))].sort();
  const colour = (operation: string) => `series-${(operations.indexOf(operation) % 6) + 1}`;
  const bars = days.map((one) => ({
    at: Date.parse(one.day),
    value: one.landedMicros / 1e6,
    colour: colour(one.operation),
  }));
  const until = Math.max(...bars.map(({ at }) => at)) + DAY_MS;
  // One bar over the whole width would look like a whole month.
  const since = Math.min(...bars.map(({ at }) => at), until - 7 * DAY_MS);
  const total = sumOf(days);
  const dayCap = caps.dayMicros === null ? null : caps.dayMicros / 1e6;
  const most = Math.max(...days.map((one) => sumOf(days.filter((other) => other.day === one.day))('landedMicros')), 0);
  const period = (name: string, micros: number | null, sums: Spent) =>
    `${name} ${[dollars(sums.landedMicros), ...besides(sums)].join(' ')} (${
      micros === null ? 'no cap' : `${share(takenOf(sums), micros)} of the cap of ${dollars(micros)}`
    })`;
  const numbers: Record<string, (one: DayUsage) => Cell> = {
    answers: (one) => counted(one.requests),
    units: (one) => counted(one.units),
    spent: (one) => money(one.landedMicros),
    ...(total('openMicros') > 0 && { 'in flight (max.)': (one: DayUsage) => money(one.openMicros) }),
    ...(total('unknownOutcomes') > 0 && {
      'unknown outcomes': (one: DayUsage) => alarming(one.unknownOutcomes),
      'possibly charged': (one: DayUsage) => money(one.unknownMicros),
    }),
  };
  const fields = ['requests', 'units', 'landedMicros', 'openMicros', 'unknownOutcomes', 'unknownMicros'] as const;
  const all = Object.fromEntries(fields.map((field) => [field, total(field)])) as unknown as DayUsage;
  const rows = [
    ...[...days].reverse().slice(0, MOST_DAYS),
    ...(days.length > 1 ? [{ ...all, day: 'total', operation: '' }] : []),
  ];
  return {
    title: 'Dollars by day and operation',
    lead: `The team has spent ${period('today', caps.dayMicros, spent.day)}, ${period('this month', caps.monthMicros, spent.month)}.`,
    // A cap far above the bars would make them invisible.
    chart:
      days.length === 0
        ? null
        : barChart({ since, until, stepMs: DAY_MS }, bars, (value) => `$${value}`, {
            cap: dayCap !== null && dayCap <= (4 * most) / 1e6 ? dayCap : null,
          }),
    legend: [
      ...operations.map((operation) => ({ mark: colour(operation), text: printable(operation, 60) })),
      ...(dayCap === null ? [] : [{ mark: 'bad', text: 'cap of a day for the team, if it is near' }]),
    ],
    table: table<DayUsage>(rows, { day: (one) => text(one.day), operation: (one) => text(one.operation), ...numbers }),
    note: [
      days.length === 0
        ? `No purchase${job === null ? '' : ' of this job'} in this time.`
        : 'A request counts on the UTC day on which it was sent.',
      ...(days.length > MOST_DAYS ? [`The table has the newest ${MOST_DAYS} lines.`] : []),
    ].join(' '),
  };
}

export function useOf({ activity, active, limits, job }: Report): Section | null {
  const used = limits.buckets
    .map((bucket) => ({ ...bucket, steps: activity.filter((step) => step.bucket === bucket.name) }))
    .filter(({ steps }) => steps.length > 0);
  const [first] = [...used].sort((a, b) => sumOf(b.steps)('units') - sumOf(a.steps)('units'));
  if (!first) return null;
  const windowSeconds = limits.windowMs / 1000;
  const most = ({ qps }: { readonly qps: number }) => qps * windowSeconds;
  return {
    title: 'Use of the rate limit',
    lead: `Rate profile ${printable(limits.profile, 60)}. ${job === null ? 'Paid requests of the team' : 'Paid requests of this job'}, as a share of the bucket ${printable(first.name, 60)} (${first.qps} units a second).`,
    chart: heatStrip(
      active,
      first.steps.map(({ at, busiest }) => ({ at, value: busiest / most(first) })),
    ),
    legend: [
      { mark: 'series-1', text: `busiest window of ${windowSeconds} seconds: the darker, the nearer to the limit` },
      { mark: 'bad', text: 'above the limit' },
    ],
    table: table(used, {
      bucket: ({ name }) => text(name),
      limit: ({ qps }) => number(`${qps}/s`),
      requests: ({ steps }) => counted(sumOf(steps)('requests')),
      units: ({ steps }) => counted(sumOf(steps)('units')),
      'mean use': (one) => number(share(sumOf(one.steps)('units'), sumOf(one.steps)('active') * most(one))),
      busiest: (one) => number(share(Math.max(...one.steps.map(({ busiest }) => busiest)), most(one))),
    }),
    note: `Derived: each paid request counts at the time of its intent, in windows of ${windowSeconds} seconds; windows without a request do not count. Free calls, such as polls and lists of events, are not in the journal. The limit is the one that is configured today.`,
  };
}

export function waitsOf({ activity, active }: Report): Section | null {
  if (activity.length === 0) return null;
  const sum = sumOf(activity);
  const steps = [...new Set(activity.map(({ at }) => at))].map((at) => ({
    at,
    of: sumOf(activity.filter((step) => step.at === at)),
  }));
  const kinds = [
    ['sent', 'requests', counted],
    ['answered', 'answered', counted],
    ['refused by the rate limit (429)', 'limited', alarming],
    ['failed otherwise, not charged', 'failed', alarming],
    ['answer lost, possibly charged', 'lost', alarming],
  ] as const;
  return {
    title: 'Waits, 429 answers and failures',
    chart: barChart(
      active,
      steps.map(({ at, of }) => ({ at, value: of('seconds') / Math.max(1, of('answered')), colour: 'series-soft' })),
      (value) => `${value} s`,
      { alarms: steps.filter(({ of }) => of('limited') + of('failed') + of('lost') > 0).map(({ at }) => at) },
    ),
    legend: [
      { mark: 'series-soft', text: 'mean time from intent to answer' },
      { mark: 'bad', text: 'steps with 429 answers, failures or lost answers' },
    ],
    table: table(kinds, {
      requests: ([title]) => text(title),
      number: ([, field, cell]) => cell(sum(field)),
      share: ([, field]) => number(field === 'requests' ? '' : share(sum(field), sum('requests'))),
    }),
    note: `Derived from intents, answers and misses of the journal. The 429 answers asked for waits of ${duration(sum('waitSeconds'))} in all. The wait for a turn of the rate limit is not recorded; the metric searchflow_grant_wait_seconds of a worker has it.`,
  };
}
