import { toMicros } from '../../core/money.js';
import { isSlow } from '../../core/row-operation.js';
import type { JobPlan, RuntimeConfig, UrlCells } from '../../worker/runtime-types.js';
import { count, dollars, duration, some } from './amounts.js';
import { badRowLines } from './bad-rows.js';
import { manyOf, someOf } from './operation-words.js';
import { printable } from './printable.js';

const standings: Readonly<Record<JobPlan['standing'], string>> = {
  new: 'new',
  unfinished: 'unfinished, goes on where it stands',
  changed: 'the file or the options changed since the last run; only what is new is bought',
  complete: 'complete: nothing to buy, nothing to load',
};

/** Which service a command works on, in words. */
export function serviceText(config: Pick<RuntimeConfig, 'service' | 'origin'>): string {
  return config.service === 'live'
    ? `the real service at ${printable(config.origin)}`
    : 'the sandbox (no key set: made-up pages, no real money)';
}

/** What the run may cost, in micro-dollars; null for no bound. */
export function atMost({ request, allowedMicros = null }: Pick<JobPlan, 'request' | 'allowedMicros'>): number | null {
  const askedMicros = toMicros(request.maxCostDollars);
  if (allowedMicros === null || askedMicros === null) return askedMicros ?? allowedMicros;
  return Math.min(askedMicros, allowedMicros);
}

/** What it will cost, in words: about so much by the list, or at most so much where it is metered. */
export function aboutDollars({ estimateMicros, estimateIsMost }: JobPlan): string {
  return `${estimateIsMost ? 'at most' : 'about'} ${dollars(estimateMicros)}`;
}

function dollarsText(plan: JobPlan): string {
  const most = atMost(plan);
  if (most === null || (most >= plan.estimateMicros && plan.estimateIsMost)) return aboutDollars(plan);
  if (most >= plan.estimateMicros) return `${aboutDollars(plan)}, at most ${dollars(most)}`;
  return `would stop at ${dollars(most)} of an estimated ${dollars(plan.estimateMicros)}`;
}

function requestsText({ staged, requests }: JobPlan): string {
  if (staged.operation === 'contents') return `${count(requests)} of up to ${some(staged.batch, 'URL')}`;
  return staged.rowsPerRun ? `${count(requests)} for up to ${some(staged.rowsPerRun, 'row')} each` : count(requests);
}

function timeText({ staged, seconds, perSecond }: JobPlan): string {
  const rate = `${some(perSecond, 'request')} a second`;
  return isSlow(staged.operation)
    ? `${duration(seconds)} at 50 at a time and ${rate}, if each takes a minute`
    : `${duration(seconds)} at ${rate}`;
}

/** How a column of URLs was found, in words. */
const foundBy: Readonly<Record<UrlCells['by'], string>> = {
  option: '',
  job: ' (as in the last run)',
  name: ' (found by its name)',
  contents: ' (found by its contents)',
};

/** Which column holds the URLs, and how many of its cells are URLs. */
export function urlColumnText({ staged }: Pick<JobPlan, 'staged'>, { by, urls, filled }: UrlCells): string {
  const empty = staged.rows - filled;
  const rest = empty > 0 ? `, ${count(empty)} ${empty === 1 ? 'is' : 'are'} empty` : '';
  const verb = urls === 1 ? 'is a URL' : 'are URLs';
  return `${printable(staged.unitColumn ?? '')}${foundBy[by]}: ${count(urls)} of ${some(filled, 'cell')} ${verb}${rest}`;
}

/** The plan for a person. */
export function planText(plan: JobPlan, config: Pick<RuntimeConfig, 'service' | 'origin'>): string {
  const { staged } = plan;
  const { operation } = staged;
  const lines: [string, string][] = [
    ['Job', `${printable(staged.job)} (${standings[plan.standing]})`],
    ['Service', serviceText(config)],
    ['Rows', count(staged.rows)],
    ...(plan.urlCells ? [['URL column', urlColumnText(plan, plan.urlCells)] as [string, string]] : []),
    ...(operation === 'contents' ? [] : [['Buys', manyOf(operation)] as [string, string]]),
    [operation === 'contents' ? 'Distinct URLs' : 'Distinct', count(staged.distinctUnits)],
    ['Already bought', count(plan.alreadyBought)],
    ['Bad rows', count(staged.badRows)],
    ['To buy', someOf(plan.toBuy, operation)],
    ['Requests', requestsText(plan)],
    ['Dollars', dollarsText(plan)],
    ['Time', timeText(plan)],
    ['Warehouse', printable(staged.into)],
  ];
  return [
    ...lines.map(([name, value]) => `${`${name}:`.padEnd(16)}${value}`),
    ...plan.notes.map((note) => `Note: ${printable(note)}`),
    ...badRowLines(plan.badRows, staged.badRows),
  ].join('\n');
}

/** The plan for machines; dollars as numbers, exact to six decimals. */
export function planData(plan: JobPlan, config: Pick<RuntimeConfig, 'service' | 'origin'>): object {
  const { staged } = plan;
  const most = atMost(plan);
  return {
    kind: 'plan',
    job: staged.job,
    name: staged.name,
    service: config.service,
    origin: config.origin,
    operation: staged.operation,
    standing: plan.standing,
    rows: staged.rows,
    urlColumn: plan.urlCells ? { name: staged.unitColumn, ...plan.urlCells } : null,
    ...(staged.operation === 'contents'
      ? { distinctUrls: staged.distinctUnits }
      : { distinctRequests: staged.distinctUnits }),
    alreadyBought: plan.alreadyBought,
    badRows: staged.badRows,
    toBuy: plan.toBuy,
    requests: plan.requests,
    dollars: plan.estimateMicros / 1e6,
    dollarsAreMost: plan.estimateIsMost,
    maxDollars: most === null ? null : most / 1e6,
    seconds: plan.seconds,
    into: staged.into,
    notes: plan.notes,
    badRowExamples: plan.badRows,
  };
}
