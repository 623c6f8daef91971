import { toMicros } from '../../core/money.js';
import { contentsQps } from '../../worker/config.js';
import type { JobPlan, RuntimeConfig } from '../../worker/runtime-types.js';
import { count, dollars, duration, some } from './amounts.js';
import { badRowLines } from './bad-rows.js';
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
export function atMost({ request }: Pick<JobPlan, 'request'>): number | null {
  return toMicros(request.maxCostDollars);
}

function dollarsText(plan: JobPlan): string {
  const most = atMost(plan);
  if (most === null) return `about ${dollars(plan.estimateMicros)}`;
  if (most >= plan.estimateMicros) return `about ${dollars(plan.estimateMicros)}, at most ${dollars(most)}`;
  return `would stop at ${dollars(most)} of an estimated ${dollars(plan.estimateMicros)}`;
}

/** The plan for a person. */
export function planText(plan: JobPlan, config: Pick<RuntimeConfig, 'service' | 'origin' | 'rate'>): string {
  const { staged } = plan;
  const lines: [string, string][] = [
    ['Job', `${printable(staged.job)} (${standings[plan.standing]})`],
    ['Service', serviceText(config)],
    ['Rows', count(staged.rows)],
    ['Distinct URLs', count(staged.distinctUnits)],
    ['Already bought', count(plan.alreadyBought)],
    ['Bad rows', count(staged.badRows)],
    ['To buy', some(plan.toBuy, 'URL')],
    ['Requests', `${count(plan.requests)} of up to ${some(staged.batch, 'URL')}`],
    ['Dollars', dollarsText(plan)],
    ['Time', `${duration(plan.seconds)} at ${some(contentsQps(config.rate), 'request')} a second`],
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
    standing: plan.standing,
    rows: staged.rows,
    distinctUrls: staged.distinctUnits,
    alreadyBought: plan.alreadyBought,
    badRows: staged.badRows,
    toBuy: plan.toBuy,
    requests: plan.requests,
    dollars: plan.estimateMicros / 1e6,
    maxDollars: most === null ? null : most / 1e6,
    seconds: plan.seconds,
    into: staged.into,
    notes: plan.notes,
    badRowExamples: plan.badRows,
  };
}
