import { resolve } from 'node:path';
import { exitCodeOfPause } from '../../core/rows/exit-codes.js';
import type { JobSummary } from '../../core/rows/job.js';
import { canBeEnded } from '../../core/rows/row-operation.js';
import { toMicros } from '../../core/text/money.js';
import type { BadRow, EnrichRequest, JobHandle, JobPlan, RuntimeConfig } from '../../worker/config/runtime-types.js';
import { type FailedRows, tooManyFailed } from '../options/failed-rows-option.js';
import { follow } from '../progress/follow.js';
import { someOf } from '../progress/operation-words.js';
import { pausedData, pausedText } from '../progress/paused.js';
import {
  aboutDollars,
  atMost,
  badRowsOf,
  planData,
  planText,
  restText,
  serviceText,
  urlColumnText,
} from '../progress/plan.js';
import { JobProgressReader } from '../progress/progress.js';
import { rowLine } from '../progress/progress-line.js';
import { ProgressView } from '../progress/progress-view.js';
import { summaryData, summaryText } from '../progress/summary.js';
import { agreed, type Purchase } from '../shared/ask.js';
import { checkConnection, checkWarehouse } from '../shared/check-connection.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { type Session, withRuntime } from '../shared/session.js';
import { count, dollars, some } from '../text/amounts.js';
import { printable } from '../text/printable.js';

export interface EnrichManner {
  readonly json: boolean;
  readonly dryRun: boolean;
  /** Asks nothing. */
  readonly yes: boolean;
  /** Asks before it buys anything for real, however little. */
  readonly asksAlways: boolean;
  /** Failed rows that are allowed; null or absent: any number. */
  readonly failedRows?: FailedRows | null;
}

/** Of a stopped job of agent rows. */
const RUNS_CONTINUE = 'Agent runs in progress continue at the service; the same command takes them over.';

/** Plans an enrichment, and unless that was all, runs it to its end. */
export async function runEnrich(
  context: Context,
  config: RuntimeConfig,
  request: EnrichRequest,
  manner: EnrichManner,
): Promise<ExitCode> {
  const { terminal } = context;
  if (request.input === '-' && terminal.asks) terminal.say('Reading rows from the terminal; end with Ctrl-D.');
  return withRuntime(context, config, { sends: !manner.dryRun }, async (session) => {
    if (!manner.dryRun) await checkWarehouse(config, request.into);
    const plan = await session.runtime.plan(request);
    if (manner.dryRun) {
      if (manner.json) terminal.data(JSON.stringify(planData(plan, config)));
      else terminal.data(planText(plan, config));
      return exitCodes.ok;
    }
    if (request.reparse) return readAgain(context, config, session, plan, manner);
    terminal.say(announcement(plan, config));
    for (const note of notesOf(plan)) terminal.say(`Note: ${note}`);
    if (plan.status === 'complete') return finishComplete(context, config, session, plan, request.csv, manner);
    if (plan.toBuy > 0 && !(await agreed(context, config, purchaseOf(plan, manner)))) {
      terminal.say('Nothing was bought.');
      return exitCodes.usage;
    }
    if (plan.toBuy > 0) await checkConnection(config);
    session.working();
    const handle = await session.runtime.start(plan);
    session.working(handle.job, canBeEnded(plan.staged.operation) ? RUNS_CONTINUE : undefined);
    return watchToEnd(context, config, session, handle, { ...manner, csv: request.csv, badRows: plan.badRows, plan });
  });
}

/** What a person should know of the plan beside its announcement; printable. */
export function notesOf(plan: JobPlan): readonly string[] {
  const { urlCells = null } = plan;
  // A column that somebody named, or agreed to before, is no news.
  const found = urlCells !== null && (urlCells.by === 'name' || urlCells.by === 'contents');
  return [
    ...(found ? [`The URL column is ${urlColumnText(plan, urlCells)}.`] : []),
    ...(plan.rest ? [`The rest of the file: ${restText(plan, plan.rest)}.`] : []),
    ...plan.notes.map((note) => printable(note)),
  ];
}

/** What a run of the plan is about to do, in a sentence. */
export function announcement(plan: JobPlan, config: RuntimeConfig): string {
  const { staged } = plan;
  const most = atMost(plan);
  const stops = most === null || most >= plan.estimateMicros ? '' : `, to stop at ${dollars(most)}`;
  const requests = staged.operation === 'contents' ? ` in ${some(plan.requests, 'request')}` : '';
  const buys =
    plan.toBuy === 0
      ? 'nothing to buy'
      : `${someOf(plan.toBuy, staged.operation)} to buy${requests} for ${aboutDollars(plan)}${stops}`;
  const bought = plan.alreadyBought > 0 ? `, ${someOf(plan.alreadyBought, staged.operation)} already bought` : '';
  const bad = badRowsOf(plan) > 0 ? `, ${some(badRowsOf(plan), 'bad row')}` : '';
  const rows = staged.limit === undefined ? '' : `the first ${count(staged.limit)} of `;
  return `${printable(staged.name)}: ${rows}${some(staged.rows, 'row')}, ${buys}${bought}${bad}; on ${serviceText(config)}.`;
}

/** What the run of a plan would buy. */
function purchaseOf(plan: JobPlan, { yes, asksAlways }: EnrichManner): Purchase {
  const micros = Math.min(plan.estimateMicros, atMost(plan) ?? Number.POSITIVE_INFINITY);
  const cost = micros < plan.estimateMicros ? `at most ${dollars(micros)}` : aboutDollars(plan);
  const units = someOf(plan.toBuy, plan.staged.operation);
  const question =
    micros < plan.estimateMicros
      ? `Spend ${cost} of real money on ${units}?`
      : `Buy ${units} for ${cost} of real money?`;
  const bounded = toMicros(plan.request.maxCostDollars) !== null;
  return { micros, sentence: `This costs ${cost} of real money`, question, yes, bounded, always: asksAlways };
}

/** A job that is whole costs nothing; its CSV is written again where it was asked for, since it may be gone. */
async function finishComplete(
  context: Context,
  config: RuntimeConfig,
  session: Session,
  plan: JobPlan,
  wanted: string | null,
  { json, failedRows }: EnrichManner,
): Promise<ExitCode> {
  const { runtime, sandbox } = session;
  const { job } = plan.staged;
  const csv = wanted === null ? null : (await runtime.export(job, wanted)).file;
  const [summary, unknown] = await Promise.all([runtime.summary(job), runtime.unknownOutcomes(job)]);
  const bill = sandbox ? await sandbox.bill() : null;
  const ending = { summary, unknown, bill, csv, origin: config.origin, badRows: plan.badRows, plan, ran: true };
  if (json) context.terminal.data(JSON.stringify(summaryData(ending)));
  else context.terminal.say(summaryText(ending));
  return codeOf(summary, failedRows ?? null);
}

interface WatchManner extends Pick<EnrichManner, 'json' | 'failedRows'> {
  readonly csv: string | null;
  readonly badRows: readonly BadRow[];
  /** What was planned; absent where somebody else did. */
  readonly plan?: JobPlan;
}

/** Reads what was paid for again, and tells how the job stands then; buys and loads nothing. */
async function readAgain(
  context: Context,
  config: RuntimeConfig,
  session: Session,
  plan: JobPlan,
  manner: EnrichManner,
): Promise<ExitCode> {
  const { answers, understood, rows } = await session.runtime.reparse(plan);
  const { terminal } = context;
  if (answers === 0) terminal.say(`${printable(plan.staged.name)}: every paid answer in the warehouse was understood.`);
  else
    terminal.say(
      `${printable(plan.staged.name)}: ${some(answers, 'answer')} read again, ${understood} understood now, ${some(rows, 'row')} updated. Nothing was bought.`,
    );
  return finishComplete(context, config, session, plan, plan.request.csv, manner);
}

/** Watches a job and tells how it ended; writes the CSV where the job itself did not. */
export async function watchToEnd(
  context: Context,
  config: RuntimeConfig,
  { runtime, sandbox, stopped }: Session,
  handle: JobHandle,
  { json, csv, badRows, failedRows, plan }: WatchManner,
): Promise<ExitCode> {
  const { terminal } = context;
  const view = new ProgressView(terminal);
  const reader = new JobProgressReader();
  const poll = async () => {
    // A client's own limiter meters nothing, so it has nothing to tell.
    const [shown, limits] = await Promise.all([handle.progress(), runtime.clientOnly ? null : runtime.limits()]);
    const at = Date.now();
    const show = () => view.update(rowLine(reader.read({ at, ...shown, limits })), at);
    return { progress: shown.progress, show };
  };
  const watched = { poll, result: () => handle.result() };
  // A bar must move; lines every few seconds need no more looks than that.
  const followed = await follow(watched, { stopped, everyMs: terminal.live ? 250 : 1000 });
  view.end();
  if (followed.kind === 'parked') {
    // It waits for a person, not for this command.
    await runtime.release(handle.workflowId);
    if (json) terminal.data(JSON.stringify(pausedData(followed.progress)));
    terminal.say(pausedText(followed.progress, context.args, context.env));
    return exitCodeOfPause(followed.progress.pausedFor);
  }
  const { summary } = followed;
  // The job writes the CSV of the command that started it; one that watched may have asked for another.
  const isWritten = csv === null || resolve(csv) === summary.csv;
  const written = isWritten ? summary.csv : (await runtime.export(summary.job, csv)).file;
  const unknown = await runtime.unknownOutcomes(summary.job);
  const bill = sandbox ? await sandbox.bill() : null;
  const ending = { summary, unknown, bill, csv: written, origin: config.origin, badRows, plan, ran: true };
  if (json) terminal.data(JSON.stringify(summaryData(ending)));
  else terminal.say(summaryText(ending));
  return codeOf(summary, failedRows ?? null);
}

/** Rows that failed are data, unless more of them did than are allowed. */
function codeOf({ phase, stoppedFor, warehouse }: JobSummary, allowed: FailedRows | null): ExitCode {
  if (phase === 'failed') return exitCodes.failed;
  if (phase !== 'done') return exitCodeOfPause(stoppedFor);
  return allowed !== null && tooManyFailed(warehouse, allowed) ? exitCodes.failedRows : exitCodes.ok;
}
