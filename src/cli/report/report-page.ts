import type { Output } from '../../api/command-outputs.js';
import { committed } from '../../core/purchase/spend.js';
import { toDollars } from '../../core/text/money.js';
import { count, DAY_MS, dollars, duration, printable, some } from '../text.js';
import { alarming, barChart, type Cell, type Columns, type Html, html, minute, page, table } from './page.js';

type Activity = Output<'report'>['activity'][number];
type Day = Output<'report'>['days'][number];
type Spent = Output<'report'>['spent']['day'];
type Job = Output<'report'>['jobs'][number];
type Run = Output<'report'>['runs'][number];

const number = (value: string): Cell => ({ text: value, kind: 'number' });

/** A share with one decimal, rounded. `0%` and `100%` are exact. */
export function share(part: number, whole: number): string {
  if (whole === 0) return '–';
  const tenths = Math.round((1000 * part) / whole);
  if (tenths === 0 && part > 0) return '<0.1%';
  const shown = part < whole ? Math.min(tenths, 999) : tenths;
  return `${(shown / 10).toFixed(1).replace(/\.0$/, '')}%`;
}

const [MOST_DAYS, MOST_TAGS] = [40, 25];

const seconds = (value: number): string => (value < 10 ? `${value.toFixed(2)} s` : duration(value));
const dayOf = (at: number): string => minute(at).slice(0, 10);
const between = (from: number, to: number): number => (to - from) / 1000;

const sumOf =
  <T extends Activity | Day>(list: readonly T[]) =>
  (field: keyof T): number =>
    list.reduce((sum, one) => sum + Number(one[field]), 0);

const section = (
  title: string,
  lead: string,
  chart: Html | null,
  rows: Html | null,
  note: string,
): Html => html`<section>
<h2>${title}</h2>
${lead === '' ? null : html`<p>${lead}</p>\n`}${chart}${rows}${note === '' ? null : html`<p class="note">${note}</p>\n`}</section>
`;

export function reportPage(report: Output<'report'>): string {
  const { job, origin, at, team } = report;
  const facts = {
    Job: job?.job,
    Status: job && `${job.phase}${job.message ? `: ${job.message}` : ''}`,
    Operation: job?.operation,
    Input: job?.input,
    Warehouse: job?.into,
    Service: origin,
    Team: team,
  };
  const purchases = [moneyOf(report), useOf(report), waitsOf(report)];
  const sections =
    job === null
      ? [jobsOf(report), ...purchases, eventsOf(report)]
      : [
          ...[progressOf(report), statusOf(report), ...purchases],
          ...[nullsOf(report), misfitsOf(report), unknownOf(report)],
        ];
  const title = job === null ? 'Team report' : printable(job.name, 200);
  const warnings = [
    ...(origin === 'sandbox'
      ? ['The data comes from the sandbox: pages are made up, and no real money was spent.']
      : []),
    ...report.missing.map((sentence) => `Some figures are missing: ${printable(sentence, 500)}`),
  ];
  return page(
    title,
    html`<header>
<h1>${title}</h1>
<p class="note">${dayOf(report.since)} to ${dayOf(report.until - 1)}, written ${minute(at)} UTC</p>
<dl>${Object.entries(facts).map(([name, value]) => value && html`<dt>${name}</dt><dd>${printable(value)}</dd>`)}</dl>
</header>
${warnings.map((warning) => html`<p class="warning">${warning}</p>\n`)}<div class="figures">
${figuresOf(report)}</div>
${sections}${runsOf(report)}<footer>
<p>Times are UTC. Amounts are exact to a millionth of a dollar.</p>
<p>Rows, statuses, columns, misfits and runs are counted in the warehouse. Dollars, requests and unknown outcomes come from the journal. Use of the limit and waits are derived from the times of its requests.</p>
</footer>`,
  );
}

/** The estimates that count under a cap besides the amount that was spent. */
const besides = ({ openMicros, unknownMicros }: Spent): readonly string[] => [
  ...(openMicros > 0 ? [`and ${dollars(openMicros)} in flight (max.)`] : []),
  ...(unknownMicros > 0 ? [`and ${dollars(unknownMicros)} possibly charged`] : []),
];
const capText = (spent: Spent, cap: number | null, none: string): string =>
  cap === null ? none : `${share(committed(spent), cap)} of the cap of ${dollars(cap)}`;

function figuresOf({ job, jobs, activity, days, unknownCount, caps, spent }: Output<'report'>): readonly Html[] {
  const [total, sum] = [sumOf(days), sumOf(activity)];
  const rows = job?.rows;
  const failed = rows ? rows.error + rows.invalid : 0;
  const bought = jobs.filter(({ usage }) => usage).length;
  const unknown = job === null ? total('unknownOutcomes') : unknownCount;
  const unknownText = unknown === 0 ? 'no answer was lost' : `at most ${dollars(total('unknownMicros'))} in this time`;
  const [open, limited, answered] = [total('openMicros'), sum('limited'), sum('answered')];
  const limitedText = limited === 0 ? 'the limit was never exceeded' : `waits of ${duration(sum('waitSeconds'))} named`;
  const spentText = open > 0 ? `and ${dollars(open)} in flight` : some(total('requests'), 'answer');
  const today = [...besides(spent.day), capText(spent.day, caps.dayMicros, 'no cap for a day')].join(', ');
  const isUsedUp = caps.dayMicros !== null && committed(spent.day) >= caps.dayMicros;
  const slowest = seconds(Math.max(...activity.map((step) => step.slowest)));
  const time = answered === 0 ? ['–', 'no answers'] : [seconds(sum('seconds') / answered), `mean; slowest ${slowest}`];
  const figures: readonly (readonly [name: string, value: string, more: string, isBad?: boolean])[] = [
    ...(rows
      ? ([
          ['Rows', count(rows.rows), `${share(rows.success, rows.rows)} successful`],
          ['Failed rows', count(failed), `${share(failed, rows.rows)} of all rows`, failed > 0],
          ['Not loaded yet', count(rows.missing), `${some(rows.vanished, 'row')} vanished from the input`],
        ] as const)
      : ([['Jobs', count(jobs.length), `${some(bought, 'job')} bought in this time`]] as const)),
    ['Spent', dollars(total('landedMicros')), spentText],
    ['Spent today, whole team', dollars(spent.day.landedMicros), today, isUsedUp],
    ['Unknown outcomes', count(unknown), unknownText, unknown > 0],
    ['Answers 429', count(limited), limitedText, limited > 0],
    ['Time of an answer', time[0] ?? '', time[1] ?? ''],
  ];
  return figures.map(
    ([name, value, more, isBad]) =>
      html`<div class="figure"><span>${name}</span><b class="${isBad ? 'bad' : ''}">${value}</b><span>${more}</span></div>\n`,
  );
}

function progressOf(report: Output<'report'>): Html | null {
  if (report.figures === null) return null;
  const { loads } = report.figures;
  const range = report.active;
  const until = Math.max(range.until, ...loads.map(({ at }) => at + range.stepMs));
  let [rows, failed] = [0, 0];
  const bars = loads.flatMap((load, nth) => {
    rows += load.rows;
    failed += load.failed;
    const span = { at: load.at, until: loads[nth + 1]?.at ?? until };
    return [
      ...(failed > 0 ? [{ ...span, value: failed, colour: 'bad' }] : []),
      { ...span, value: rows - failed, colour: 'series-1' },
    ];
  });
  const chart = barChart({ ...range, until }, bars, count, [
    ['series-1', 'rows loaded'],
    ['bad', 'of these failed'],
  ]);
  const lead = rows === 0 ? 'No row is loaded yet.' : `${some(rows, 'row')} of the current input loaded.`;
  const note = 'A row counts when its latest answer was loaded; a refreshed row moves to the later time.';
  return section('Progress', lead, chart, null, note);
}

function statusOf({ figures, job }: Output<'report'>): Html | null {
  if (figures === null) return null;
  const { tags, summary } = figures;
  const all = tags.reduce((sum, { rows }) => sum + rows, 0);
  const { discarded = 0, missing } = summary;
  const notes = [
    tags.length > MOST_TAGS && `${some(tags.length - MOST_TAGS, 'further error')} not shown.`,
    discarded > 0 && `${some(discarded, 'failed row')} of these discarded or forgotten by a person.`,
    missing > 0 && `${some(missing, 'row')} of ${count(job?.rows?.rows ?? summary.rows)} not loaded yet.`,
  ];
  const rows = table(tags.slice(0, MOST_TAGS), {
    ...({ status: 'status', error: 'tag', rows: 'rows' } as const),
    share: ({ rows }) => number(share(rows, all)),
  });
  return section('Rows by status and error', '', null, rows, notes.filter(Boolean).join(' '));
}

function moneyOf({ days, caps, spent, job }: Output<'report'>): Html {
  const operations = [...new Set(days.map(({ operation }) => operation))].sort();
  const colour = (operation: string) => `series-${(operations.indexOf(operation) % 6) + 1}`;
  const bars = days.map(({ day, operation, landedMicros }) => ({
    ...{ at: Date.parse(day), value: landedMicros, colour: colour(operation) },
  }));
  const until = Math.max(...bars.map(({ at }) => at)) + DAY_MS;
  // One bar over the whole width would look like a whole month.
  const since = Math.min(...bars.map(({ at }) => at), until - 7 * DAY_MS);
  const total = sumOf(days);
  const period = (name: string, cap: number | null, sums: Spent) =>
    `${name} ${[dollars(sums.landedMicros), ...besides(sums)].join(' ')} (${capText(sums, cap, 'no cap')})`;
  const fields = ['requests', 'units', 'landedMicros', 'openMicros', 'unknownOutcomes', 'unknownMicros'] as const;
  const sums = Object.fromEntries(fields.map((field) => [field, total(field)]));
  const all = { day: 'total', operation: '', ...sums } as Day;
  const lines = days.length > MOST_DAYS ? ` The table has the newest ${MOST_DAYS} lines.` : '';
  const legend = operations.map((operation) => [colour(operation), printable(operation, 60)] as const);
  const rows = table<Day>([...[...days].reverse().slice(0, MOST_DAYS), ...(days.length > 1 ? [all] : [])], {
    ...({ day: 'day', operation: 'operation', answers: 'requests', units: 'units', spent: 'landedMicros' } as const),
    'in flight (max.)': 'openMicros',
    'unknown outcomes': ({ unknownOutcomes }) => alarming(unknownOutcomes),
    'possibly charged': 'unknownMicros',
  });
  return section(
    'Dollars by day and operation',
    `The team has spent ${period('today', caps.dayMicros, spent.day)}, ${period('this month', caps.monthMicros, spent.month)}.`,
    barChart({ since, until, stepMs: DAY_MS }, bars, (value) => `$${toDollars(value)}`, legend),
    rows,
    days.length === 0
      ? `No purchase${job === null ? '' : ' of this job'} in this time.`
      : `A request counts on the UTC day on which it was sent.${lines}`,
  );
}

function useOf(report: Output<'report'>): Html | null {
  const { activity, limits, job } = report;
  const used = limits.buckets.flatMap((bucket) => {
    const steps = activity.filter((step) => step.bucket === bucket.name);
    return steps.length === 0
      ? []
      : [{ ...bucket, steps, most: (bucket.qps * limits.windowMs) / 1000, sum: sumOf(steps) }];
  });
  const [first] = [...used].sort((a, b) => b.sum('units') - a.sum('units'));
  if (!first) return null;
  const windows = `${limits.windowMs / 1000} seconds`;
  const bars = first.steps.map(({ at, busiest }) => {
    const value = busiest / first.most;
    return { at, value, colour: value > 1 ? 'bad' : 'series-1' };
  });
  const legend = [
    ['series-1', `busiest window of ${windows}`],
    ['bad', 'above the limit'],
  ] as const;
  const rows = table(used, {
    bucket: 'name',
    limit: ({ qps }) => number(`${qps}/s`),
    requests: ({ sum }) => number(count(sum('requests'))),
    units: ({ sum }) => number(count(sum('units'))),
    'mean use': ({ sum, most }) => number(share(sum('units'), sum('active') * most)),
    busiest: ({ steps, most }) => number(share(Math.max(...steps.map(({ busiest }) => busiest)), most)),
  });
  return section(
    'Use of the rate limit',
    `Rate profile ${printable(limits.profile, 60)}. ${job === null ? 'Paid requests of the team' : 'Paid requests of this job'}, as a share of the bucket ${printable(first.name, 60)} (${first.qps} units a second).`,
    barChart(report.active, bars, (value) => share(value, 1), legend),
    rows,
    `Derived: each paid request counts at the time of its intent, in windows of ${windows}; windows without a request do not count. Free calls, such as polls and lists of events, are not in the journal. The limit is the one that is configured today.`,
  );
}

function waitsOf(report: Output<'report'>): Html | null {
  const { activity } = report;
  if (activity.length === 0) return null;
  const sum = sumOf(activity);
  const steps = [...new Set(activity.map(({ at }) => at))].map((at) => ({
    at,
    of: sumOf(activity.filter((step) => step.at === at)),
  }));
  const kinds = [
    { title: 'sent', field: 'requests' },
    { title: 'answered', field: 'answered' },
    { title: 'refused by the rate limit (429)', field: 'limited', isBad: true },
    { title: 'failed otherwise, not charged', field: 'failed', isBad: true },
    { title: 'answer lost, possibly charged', field: 'lost', isBad: true },
  ] as const;
  const bars = steps.map(({ at, of }) => ({
    at,
    value: of('seconds') / Math.max(1, of('answered')),
    colour: of('limited') + of('failed') + of('lost') > 0 ? 'bad' : 'series-soft',
  }));
  const legend = [
    ['series-soft', 'mean time from intent to answer'],
    ['bad', 'steps with 429 answers, failures or lost answers'],
  ] as const;
  const rows = table(kinds, {
    requests: 'title',
    number: (kind) => ('isBad' in kind ? alarming(sum(kind.field)) : number(count(sum(kind.field)))),
    share: ({ field }) => number(field === 'requests' ? '' : share(sum(field), sum('requests'))),
  });
  const note = `Derived from intents, answers and misses of the journal. The 429 answers asked for waits of ${duration(sum('waitSeconds'))} in all. The wait for a turn of the rate limit is not recorded; the metric searchflow_grant_wait_seconds of a worker has it.`;
  const chart = barChart(report.active, bars, (value) => `${value} s`, legend);
  return section('Waits, 429 answers and failures', '', chart, rows, note);
}

function listOf<T extends object>(title: string, things: readonly T[], columns: Columns<T>, note: string, lead = '') {
  return things.length === 0 ? null : section(title, lead, null, table(things, columns), note);
}

function nullsOf({ figures, job }: Output<'report'>): Html | null {
  const { nulls = [], viewRows = 0 } = figures ?? {};
  const found = viewRows === 0 ? [] : [...nulls].sort((a, b) => b.nulls - a.nulls);
  const columns: Columns<(typeof found)[number]> = {
    ...{ column: 'column', NULL: 'nulls' },
    share: (one) => number(share(one.nulls, viewRows)),
  };
  const note = `Of ${some(viewRows, 'row')} in the view ${printable(job?.name ?? '', 60)}.`;
  return listOf('Null rate of columns', found, columns, note);
}

function misfitsOf({ figures }: Output<'report'>): Html | null {
  const misfits = Object.entries(figures?.summary.misfits ?? {}).map(([column, values]) => ({ column, values }));
  const note = 'The view of the job has NULL in their place; the table misfits has the values.';
  const values = (one: { readonly values: number }) => alarming(one.values);
  return listOf('Values that do not fit their column', misfits, { column: 'column', values }, note);
}

function unknownOf({ unknown, unknownCount }: Output<'report'>): Html | null {
  const columns = { time: 'intendedAt', operation: 'operation', units: 'units', 'at most': 'estimateMicros' } as const;
  const lead = `${some(unknownCount, 'request')} of all runs got no answer and may have been charged.`;
  const note = unknownCount > unknown.length ? `The newest ${unknown.length} are shown.` : '';
  return listOf('Unknown outcomes', unknown, { ...columns, reason: 'reason' }, note, lead);
}

function eventsOf({ streams, at }: Output<'report'>): Html | null {
  const columns: Columns<(typeof streams)[number]> = {
    ...{ stream: 'stream', warehouse: 'into', 'loaded up to': 'upTo' },
    lag: ({ upTo }) => number(upTo === null ? '–' : duration(between(upTo, at))),
    'last complete run': 'completedAt',
    'unread windows': ({ pending }) => alarming(pending),
  };
  const note = 'A backfill with an end has no lag: its events end with its range.';
  return listOf('Lag of events', streams, columns, note);
}

function runsOf({ runs }: Output<'report'>): Html | null {
  const columns: Columns<Run> = {
    job: 'job',
    start: ({ startedAt, scheduled }) => ({ text: `${minute(startedAt)}${scheduled ? ' (schedule)' : ''}` }),
    end: ({ phase, message, reason }) =>
      phase === 'done'
        ? { text: 'done' }
        : { text: printable(`stopped: ${message ?? reason ?? ''}`, 200), kind: 'bad' },
    time: ({ startedAt, endedAt }) => number(duration(between(startedAt, endedAt))),
    ...{ rows: 'rows', success: 'success' },
    failed: ({ error, invalid }) => alarming(error + invalid),
    ...{ 'not loaded': 'missing', requests: 'requests', cost: 'costMicros' },
  };
  const note =
    'Runs that ended as done or stopped (table searchflow_runs). Failed and cancelled runs have no row there.';
  return listOf('Last runs', runs, columns, note);
}

function jobsOf({ jobs }: Output<'report'>): Html {
  const ofRows = (cell: (rows: NonNullable<Job['rows']>) => Cell) => (job: Job) =>
    job.rows ? cell(job.rows) : number('–');
  const counted = (field: 'rows' | 'success' | 'missing') => ofRows((rows) => number(count(rows[field])));
  const rows = table(jobs, {
    job: ({ name, job }) => ({ text: printable(name === job ? name : `${name} (${job})`, 300) }),
    status: ({ phase }) => ({ text: phase, kind: phase === 'failed' || phase === 'stopped' ? 'bad' : '' }),
    ...{ rows: counted('rows'), success: counted('success') },
    failed: ofRows(({ error, invalid }) => alarming(error + invalid)),
    'not loaded': counted('missing'),
    answers: ({ usage }) => number(count(usage?.requests ?? 0)),
    spent: ({ usage }) => number(dollars(usage?.landedMicros ?? 0)),
    'unknown outcomes': ({ usage }) => alarming(usage?.unknownOutcomes ?? 0),
  });
  const note =
    'Rows are those of the current inputs; answers, dollars and unknown outcomes are those of this time. The newest jobs are shown.';
  return section('Jobs', jobs.length === 0 ? 'There is no job here.' : '', null, rows, note);
}
