import type { Output } from '../../api/command-outputs.js';
import { buysPages, isLongRunning, operationFacts } from '../../core/rows/row-operation.js';
import { inputText } from '../../core/rows/source-fields.js';
import { limitInAnswers, limitText } from '../../core/rows/stop-at-failed.js';
import { toMicros } from '../../core/text/money.js';
import type {
  BadRow,
  JobPlan,
  RestPlan,
  RetryPlan,
  RuntimeConfig,
  UrlCells,
} from '../../worker/config/runtime-types.js';
import { type Context, type ExitCode, exitCodes } from '../shared/command.js';
import { count, dollars, duration, type Fact, factLines, printable, some, toDo } from '../text.js';

function statusText(plan: JobPlan): string {
  if (plan.status === 'complete') return 'complete: nothing to buy, nothing to load';
  if (plan.status === 'unfinished') return 'unfinished; this run resumes it';
  return plan.status === 'new' ? 'new' : `rows or options changed since the last run; ${shareText(plan)}`;
}

function shareText(plan: JobPlan): string {
  const { toBuy, staged } = plan;
  const distinct = distinctOf(plan);
  if (toBuy === 0) return 'nothing to buy';
  return `to buy: ${toBuy < distinct ? `${count(toBuy)} of` : 'all'} ${someOf(distinct, staged.operation)}`;
}

export function serviceText(config: Pick<RuntimeConfig, 'service' | 'origin'>): string {
  return config.service === 'live'
    ? `the real service at ${printable(config.origin)}`
    : 'the sandbox (no key set: made-up pages, no real money)';
}

/** Returns the cap of the run in micro-dollars; null without a cap. */
export function atMost({
  request,
  allowedMicros = null,
}: Pick<JobPlan, 'allowedMicros'> & { readonly request: Pick<JobPlan['request'], 'maxCostDollars'> }): number | null {
  const askedMicros = toMicros(request.maxCostDollars);
  if (allowedMicros === null || askedMicros === null) return askedMicros ?? allowedMicros;
  return Math.min(askedMicros, allowedMicros);
}

export const limitOf = ({ request, staged }: Pick<JobPlan, 'request' | 'staged'>) =>
  limitInAnswers(request.stopAtFailed, staged);

/** Returns the estimated cost as text. For operations that are billed by usage, the estimate is a maximum. */
export function aboutDollars({
  estimateMicros,
  estimateIsMost,
}: Pick<JobPlan, 'estimateMicros' | 'estimateIsMost'>): string {
  return `${estimateIsMost ? 'at most' : 'about'} ${dollars(estimateMicros)}`;
}

function dollarsText(plan: JobPlan): string {
  const most = atMost(plan);
  if (most === null || (most >= plan.estimateMicros && plan.estimateIsMost)) return aboutDollars(plan);
  if (most >= plan.estimateMicros) return `${aboutDollars(plan)}, at most ${dollars(most)}`;
  return `would stop at ${dollars(most)} of an estimated ${dollars(plan.estimateMicros)}`;
}

function requestsText({ staged, requests }: JobPlan): string {
  if (buysPages(staged.operation)) return `${count(requests)} of up to ${some(staged.batch, 'URL')}`;
  return staged.rowsPerRun ? `${count(requests)} for up to ${some(staged.rowsPerRun, 'row')} each` : count(requests);
}

function timeText({ staged, seconds, perSecond }: JobPlan): string {
  const rate = `${some(perSecond, 'request')} a second`;
  return isLongRunning(staged.operation)
    ? `${duration(seconds)} with 50 runs in parallel, at ${rate}, if each run takes a minute`
    : `${duration(seconds)} at ${rate}`;
}

const foundBy: Readonly<Record<UrlCells['by'], string>> = {
  option: '',
  job: ' (as in the last run)',
  name: ' (found by its name)',
  contents: ' (found by its contents)',
};

export function urlColumnText({ staged }: Pick<JobPlan, 'staged'>, { by, urls, filled }: UrlCells): string {
  const empty = staged.rows - filled;
  const rest = empty > 0 ? `, ${count(empty)} ${empty === 1 ? 'is' : 'are'} empty` : '';
  const verb = urls === 1 ? 'is a URL' : 'are URLs';
  return `${printable(staged.unitColumn ?? '')}${foundBy[by]}: ${count(urls)} of ${some(filled, 'cell')} ${verb}${rest}`;
}

export const badRowsOf = ({ staged, limitedBadRows }: JobPlan): number => limitedBadRows ?? staged.badRows;

/** Number of distinct units in the rows of `--limit`. */
const distinctOf = ({ staged, alreadyBought, toBuy }: JobPlan): number =>
  staged.limit === undefined ? staged.distinctUnits : alreadyBought + toBuy;

function rowsText({ staged }: JobPlan): string {
  return staged.limit === undefined ? count(staged.rows) : `the first ${count(staged.limit)} of ${count(staged.rows)}`;
}

export function restText(
  { staged, estimateIsMost }: Pick<JobPlan, 'staged' | 'estimateIsMost'>,
  { rows, toBuy, requests, estimateMicros }: RestPlan,
): string {
  if (toBuy === 0) return `${some(rows, 'row')}, nothing to buy`;
  const sent = buysPages(staged.operation) ? ` in ${some(requests, 'request')}` : '';
  const cost = aboutDollars({ estimateMicros, estimateIsMost });
  return `${some(rows, 'row')}, ${someOf(toBuy, staged.operation)} to buy${sent} for ${cost}`;
}

/** What the end of the run buys once more. A failed page that cost nothing is in the price, because the price has each unit once. */
function retryText({ request, staged, status }: JobPlan): string | null {
  // Nothing runs if all rows are loaded.
  if (status === 'complete') return null;
  if (request.redrive)
    return 'at the end, once: failed rows that may pass, also charged ones, which are not in the price';
  if (!buysPages(staged.operation)) return null;
  return 'at the end, once: failed rows that may pass and cost nothing; the price includes them';
}

export function planText(plan: JobPlan, config: Pick<RuntimeConfig, 'service' | 'origin'>): string {
  const { staged } = plan;
  const { operation } = staged;
  const limit = limitOf(plan);
  const facts: readonly Fact[] = [
    ['Job', `${printable(staged.job)} (${statusText(plan)})`],
    ['Service', serviceText(config)],
    ['Source', (staged.sql ?? staged.table) ? printable(inputText(staged)) : null],
    ['Rows', rowsText(plan)],
    ['URL column', plan.urlCells ? urlColumnText(plan, plan.urlCells) : null],
    ['Key', staged.key?.map((name) => printable(name)).join(', ') ?? null],
    ['Buys', buysPages(operation) ? null : operationFacts(operation).unit[1]],
    [buysPages(operation) ? 'Distinct URLs' : 'Distinct', count(distinctOf(plan))],
    ['Already bought', count(plan.alreadyBought)],
    ['Bad rows', count(badRowsOf(plan))],
    ['To buy', someOf(plan.toBuy, operation)],
    ['Requests', requestsText(plan)],
    ['Dollars', dollarsText(plan)],
    ['Time', timeText(plan)],
    ['Tried again', retryText(plan)],
    ['Pauses', limit && `if ${limitText(limit)}`],
    ['Warehouse', printable(staged.into)],
    ['Publishes', plan.request.publish ? printable(plan.request.publish.to) : null],
    ['The rest', plan.rest ? restText(plan, plan.rest) : null],
  ];
  return [
    ...factLines(16, facts),
    ...plan.notes.map((note) => `Note: ${printable(note)}`),
    ...badRowLines(plan.badRows, badRowsOf(plan)),
  ].join('\n');
}

export function plannedData(
  { staged, requests, estimateMicros, estimateIsMost, seconds, notes }: JobPlan | RetryPlan,
  { service, origin }: Pick<RuntimeConfig, 'service' | 'origin'>,
) {
  const { job, name, operation, into } = staged;
  return { job, name, service, origin, operation, into, requests, estimateMicros, estimateIsMost, seconds, notes };
}

export function planData(plan: JobPlan, config: Pick<RuntimeConfig, 'service' | 'origin'>): Output<'plan'> {
  const { staged } = plan;
  return {
    kind: 'plan',
    ...plannedData(plan, config),
    status: plan.status,
    rows: staged.rows,
    limit: staged.limit ?? null,
    rest: plan.rest ?? null,
    urlColumn: plan.urlCells ? { name: staged.unitColumn, ...plan.urlCells } : null,
    key: staged.key,
    distinctUnits: distinctOf(plan),
    alreadyBought: plan.alreadyBought,
    badRows: badRowsOf(plan),
    toBuy: plan.toBuy,
    maxCostMicros: atMost(plan),
    stopAtFailed: limitOf(plan),
    redrive: plan.request.redrive ?? false,
    publish: plan.request.publish ?? null,
    badRowExamples: plan.badRows,
  };
}

const SHOWN = 10;

export function badRowLines(rows: readonly BadRow[], total: number): string[] {
  if (total === 0) return [];
  const shown = rows.slice(0, SHOWN);
  const head = `${some(total, 'bad row')}, loaded with the reason and not bought`;
  if (shown.length === 0) return [`${head}.`];
  return [
    `${head}:`,
    ...shown.map((row) => `  row ${count(row.row)}: ${printable(row.message)} [${printable(row.tag)}]`),
    ...(total > shown.length ? [`  and ${count(total - shown.length)} more`] : []),
  ];
}

/** Returns a number with its noun, such as `3,470 searches` or `1 URL`. */
export function someOf(amount: number, operation: string): string {
  return some(amount, ...operationFacts(operation).unit);
}

/** Prints the id of a job that the workers run (`--detach`). */
export function showStarted({ terminal }: Context, { job, state }: Omit<Output<'started'>, 'kind'>): ExitCode {
  terminal.print<Output<'started'>>({ kind: 'started', job, state }, printable(job));
  if (state === 'started')
    terminal.note(`${printable(job)} is running on the workers. ${toDo('To wait for it', 'wait', job)}`);
  return exitCodes.ok;
}
