import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { exitCodeOfPause } from '../../core/processes/exit-codes.js';
import { stepMode } from '../../core/publish-request.js';
import type { JobSummary } from '../../core/row-job-schemas.js';
import { buysPages, isLongRunning } from '../../core/rows/row-operation.js';
import { limitText } from '../../core/rows/stop-at-failed.js';
import { inPackage } from '../../files/package-root.js';
import {
  type BadRow,
  type EnrichRequest,
  type JobPlan,
  type RuntimeConfig,
  UsageError,
} from '../../worker/config/runtime-types.js';
import type { JobHandle } from '../../worker/control/job-handle.js';
import { type AllowedFailures, readAll, tooManyFailed } from '../flag-values.js';
import {
  aboutDollars,
  atMost,
  badRowsOf,
  limitOf,
  planData,
  planText,
  restText,
  serviceText,
  showStarted,
  someOf,
  urlColumnText,
} from '../progress/plan.js';
import { followJob, rowProgress } from '../progress/progress.js';
import { type Ending, showPause, summaryData, summaryText } from '../progress/summary.js';
import { keepSchedule, type ScheduleWish, toScheduleWish } from '../schedules.js';
import { agreed, isAgreed, type PlannedPurchase } from '../shared/ask.js';
import { checkConnection, checkWarehouse } from '../shared/check-connection.js';
import { type Context, type ExitCode, exitCodes, type Flags } from '../shared/command.js';
import { type Session, settings, withRuntime } from '../shared/session.js';
import { count, dollars, duration, printable, some } from '../text.js';
import { mistakesCode, toEnrichRequest } from './enrich-request.js';

export async function enrich(context: Context, file: string | undefined, flags: Flags<'enrich'>): Promise<ExitCode> {
  const { request, wish, mistakes } = readAll({
    request: () => toEnrichRequest(file, flags, context.cwd),
    wish: () => toScheduleWish(flags),
  });
  const source = file ?? flags.from;
  const typed = source === undefined ? flags : { ...flags, source };
  const config = settings(context, typed, mistakes, mistakesCode(source, context.cwd));
  return runEnrich(context, config, request, flags, wish);
}

export const agentRows = (context: Context, file: string | undefined, flags: Flags<'agent rows'>): Promise<ExitCode> =>
  enrich(context, file, { ...flags, operation: 'agent' });

/** Half of the contract's rate. At this speed a person can watch the 35 requests of the demonstration. */
const DEMO_QPS = '5';

/**
 * `searchflow start` or `npm start`: enriches the example brands on the sandbox, even if an API key is set. With `--live`,
 * uses the real service, after a confirmation.
 */
export async function start(context: Context, flags: Flags<'start'>): Promise<ExitCode> {
  const file = inPackage('examples', 'brands.csv');
  if (!existsSync(file)) {
    throw new UsageError('installation-incomplete', `${file} is missing: install searchflow again.`);
  }
  const live = flags.live ?? false;
  const name = live ? 'brands-live' : 'brands';
  const request = toEnrichRequest(
    relative(context.cwd, file) || file,
    { urlColumn: 'source', job: name, into: `out/${name}.duckdb`, csv: `out/${name}.csv`, text: true },
    context.cwd,
  );
  const config = settings(context, {
    service: live ? 'live' : 'sandbox',
    qps: flags.qps ?? (live || context.env.SEARCHFLOW_QPS ? undefined : DEMO_QPS),
  });
  return runEnrich(context, config, request, { ...flags, asksAlways: live });
}

export interface EnrichManner extends Pick<Flags<'enrich'>, 'dryRun' | 'yes' | 'detach' | 'failedRows'> {
  /** Whether every purchase on the real service needs a confirmation, however small it is. */
  readonly asksAlways?: boolean;
}

const RUNS_CONTINUE = 'Its agent runs continue at the service; the next run of the job follows them.';

/**
 * Plans an enrichment. Without `--dry-run`, then runs the job to its end, or creates its schedule, which buys nothing now. Returns the exit
 * code.
 */
export async function runEnrich(
  context: Context,
  config: RuntimeConfig,
  request: EnrichRequest,
  manner: EnrichManner,
  wish: ScheduleWish | null = null,
): Promise<ExitCode> {
  const { terminal } = context;
  const { dryRun = false, detach: detached = false } = manner;
  if (request.input === '-' && terminal.asks) terminal.note('Reading rows from the terminal; press Ctrl-D to end.');
  const runsHere = wish === null && !dryRun && !detached;
  return withRuntime(context, config, { sends: runsHere }, async (session) => {
    if (detached) await (await session.runtime.work()).checkDetached();
    if (!dryRun && wish?.timing !== 'never') await checkWarehouse(config, request.into);
    const runsNow = runsHere && !request.reparse && isAgreed(config, manner);
    const work = await session.runtime.work(runsNow ? request : null);
    const plan = await work.plan(request);
    const schedule = wish && (await scheduleOf(session, plan, wish));
    if (dryRun) {
      terminal.print(planData(plan, config), planText(plan, config));
      if (schedule) terminal.say('No schedule was created.');
      return exitCodes.ok;
    }
    if (schedule) return keepAgreed(session, plan, schedule, manner);
    if (request.reparse) return readAgain(session, plan, manner);
    if (plan.request.publish && plan.status !== 'complete') await session.runtime.rows.checkPublish(plan);
    announce(session, plan);
    if (plan.status === 'complete') {
      const code = await finishComplete(session, plan, manner);
      return detached ? showStarted(context, { job: plan.staged.job, state: 'done' }) : code;
    }
    if (plan.toBuy > 0 && !(await agreed(context, config, purchaseOf(plan, manner)))) {
      terminal.say('Nothing was bought.');
      return exitCodes.usage;
    }
    if (plan.toBuy > 0) await checkConnection(config);
    if (detached) {
      const { job } = await work.start(plan, { detached });
      if (session.runtime.shared && request.csv)
        terminal.note(`${printable(request.csv)} is written by \`searchflow wait\` on this machine.`);
      return showStarted(context, { job, state: 'started' });
    }
    session.working();
    const handle = await work.start(plan);
    session.working(handle.job, isLongRunning(plan.staged.operation) ? RUNS_CONTINUE : undefined);
    return watchToEnd(session, handle, { ...manner, csv: request.csv, badRows: plan.badRows, plan });
  });
}

function announce({ terminal, config }: Session, plan: JobPlan, before = ''): void {
  terminal.note(`${before}${announcement(plan, config)}`);
  for (const note of notesOf(plan)) terminal.note(`Note: ${note}`);
}

export function notesOf(plan: JobPlan): readonly string[] {
  const { urlCells = null } = plan;
  // No note is needed for a column that a flag named or that the last run used.
  const found = urlCells !== null && (urlCells.by === 'name' || urlCells.by === 'contents');
  return [
    ...(found ? [`The URL column is ${urlColumnText(plan, urlCells)}.`] : []),
    ...(plan.rest ? [`Rows after the limit: ${restText(plan, plan.rest)}.`] : []),
    ...plan.notes.map((note) => printable(note)),
  ];
}

export function announcement(plan: JobPlan, config: RuntimeConfig): string {
  const { staged } = plan;
  const most = atMost(plan);
  const stops = most === null || most >= plan.estimateMicros ? '' : `, stops at ${dollars(most)}`;
  const limit = limitOf(plan);
  const pauses = limit === null ? '' : `, pauses if ${limitText(limit)}`;
  const requests = buysPages(staged.operation) ? ` in ${some(plan.requests, 'request')}` : '';
  const buys =
    plan.toBuy === 0
      ? 'nothing to buy'
      : `${someOf(plan.toBuy, staged.operation)} to buy${requests} for ${aboutDollars(plan)}${stops}${pauses}`;
  const bought = plan.alreadyBought > 0 ? `, ${someOf(plan.alreadyBought, staged.operation)} already bought` : '';
  const bad = badRowsOf(plan) > 0 ? `, ${some(badRowsOf(plan), 'bad row')}` : '';
  const rows = staged.limit === undefined ? '' : `the first ${count(staged.limit)} of `;
  return `${printable(staged.name)}: ${rows}${some(staged.rows, 'row')}, ${buys}${bought}${bad}; on ${serviceText(config)}.`;
}

function purchaseOf(plan: JobPlan, { yes, asksAlways }: EnrichManner): PlannedPurchase {
  const micros = Math.min(plan.estimateMicros, atMost(plan) ?? Number.POSITIVE_INFINITY);
  const cost = micros < plan.estimateMicros ? `at most ${dollars(micros)}` : aboutDollars(plan);
  const units = someOf(plan.toBuy, plan.staged.operation);
  const question = micros < plan.estimateMicros ? `Spend ${cost} on ${units}?` : `Buy ${units} for ${cost}?`;
  const maxCost = plan.request.maxCostDollars;
  return { micros, sentence: `This costs ${cost}`, question, yes, maxCost, always: asksAlways };
}

/** Shows a job that is already complete. Writes the CSV of the job again, because a person may have deleted the file. Buys nothing. */
async function finishComplete(session: Session, plan: JobPlan, manner: EnrichManner): Promise<ExitCode> {
  const { rows } = session.runtime;
  const { job } = plan.staged;
  const csv = plan.request.csv ? (await rows.export(job, plan.request.csv, plan.staged.csvForm)).file : null;
  const summary = await withPublish(session, await rows.summary(job), plan.request);
  return showEnd(session, { summary, csv, badRows: plan.badRows, plan }, manner);
}

async function showEnd(
  { terminal, env, config, runtime, sandbox }: Session,
  end: Pick<Ending, 'summary' | 'csv' | 'badRows' | 'plan'>,
  { failedRows, detach }: Pick<EnrichManner, 'failedRows' | 'detach'>,
): Promise<ExitCode> {
  const unknown = await runtime.rows.unknownOutcomes(end.summary.job);
  const ending = { ...end, unknown, bill: sandbox ? await sandbox.bill() : null, origin: config.origin, ran: true };
  // A detached command prints the state of its job as JSON instead.
  if (!detach || !terminal.json) terminal.tell(summaryData(ending), summaryText(ending, env));
  return exitCodeOf(end.summary, failedRows);
}

interface WatchManner extends Pick<EnrichManner, 'failedRows'> {
  /** Whether any pause ends the watch, also that by a person. */
  readonly untilPaused?: boolean;
  readonly csv?: string | null;
  readonly badRows?: readonly BadRow[];
  /** Absent for a job that another command planned. */
  readonly plan?: JobPlan;
}

/** Parses again the paid answers that could not be parsed, and shows the job. Buys nothing. */
async function readAgain(session: Session, plan: JobPlan, manner: EnrichManner): Promise<ExitCode> {
  const { terminal, runtime } = session;
  const { answers, understood, rows } = await (await runtime.work()).reparse(plan);
  const parsed = `${some(answers, 'answer')} parsed again, ${understood} parsed now, ${some(rows, 'row')} updated. Nothing was bought.`;
  const what = answers === 0 ? 'all paid answers in the warehouse are parsed.' : parsed;
  terminal.say(`${printable(plan.staged.name)}: ${what}`);
  return finishComplete(session, plan, manner);
}

/** Watches a job and shows its summary. Writes the CSV if the job itself did not. Returns the exit code. */
export async function watchToEnd(session: Session, handle: JobHandle, manner: WatchManner = {}): Promise<ExitCode> {
  const { csv = null, badRows = [], plan, untilPaused } = manner;
  const followed = await followJob(session, handle, rowProgress(), { untilPaused });
  if (followed.kind === 'parked') return showPause(session, handle.job, followed.progress);
  const summary = await withPublish(session, followed.summary, plan?.request);
  // The job writes the CSV that its first command named. A command that joined the job may name another file.
  const isWritten = csv === null || resolve(csv) === summary.csv;
  const written = isWritten
    ? summary.csv
    : (await session.runtime.rows.export(summary.job, csv, plan?.staged.csvForm)).file;
  return showEnd(session, { summary, csv: written, badRows, plan }, manner);
}

/** Publishes the rows if the run itself did not: a complete job has no run, and a command that joined a run may name another target. */
async function withPublish(
  { runtime }: Session,
  summary: JobSummary,
  request: Pick<EnrichRequest, 'publish'> | undefined,
): Promise<JobSummary> {
  const step = request?.publish;
  if (!step || summary.phase !== 'done' || summary.published?.to === step.to) return summary;
  const { to, key = [], partition = null } = step;
  const done = await runtime.publish({ what: summary.job, from: null, to, mode: stepMode(step), key, partition });
  const rows = done.tables.reduce((sum, table) => sum + table.rows, 0);
  return { ...summary, published: { to, error: null, publish: done.id, rows, changed: done.changed } };
}

/** Returns the exit code of a summary. Up to the allowed number, failed rows are data and not a failure. */
export function exitCodeOf({ phase, stoppedFor, warehouse }: JobSummary, allowed?: AllowedFailures): ExitCode {
  if (phase === 'failed') return exitCodes.failed;
  if (phase !== 'done') return exitCodeOfPause(stoppedFor);
  return allowed && tooManyFailed(warehouse, allowed) ? exitCodes.failedRows : exitCodes.ok;
}

/** The schedule that a person wants, with its work and its default name. Loaded here, because a run without a schedule does not need it. */
async function scheduleOf({ config, runtime }: Session, plan: JobPlan, wish: ScheduleWish) {
  const { rowsWork } = await import('../../worker/schedules/schedule-rows.js');
  const name = `${plan.staged.operation}-${plan.staged.job}`;
  return { wish, name, work: rowsWork(plan, { config, shared: runtime.shared }), isResult: true };
}

/** Shows the cost of a run now, and creates, changes or deletes the schedule. */
async function keepAgreed(
  session: Session,
  plan: JobPlan,
  { wish, ...schedule }: Awaited<ReturnType<typeof scheduleOf>>,
  manner: EnrichManner,
): Promise<ExitCode> {
  if (wish.timing !== 'never') {
    announce(session, plan, 'A run now: ');
    session.terminal.note(runCost(plan));
    if (!(await agreed(session, session.config, scheduledPurchaseOf(plan, manner)))) {
      session.terminal.say('No schedule was created.');
      return exitCodes.usage;
    }
  }
  return keepSchedule(session, await session.runtime.workflows(), wish, schedule);
}

/** Returns a sentence about what each run will buy, with the cap of a run. */
function runCost(plan: JobPlan): string {
  const { refreshAfterMs, retryFailed } = plan.request;
  const old = refreshAfterMs === undefined ? '' : `, rows older than ${duration(refreshAfterMs / 1000)}`;
  const failed = retryFailed ? ', rows that failed for a temporary reason' : '';
  const most = atMost(plan);
  const bound =
    most === null
      ? 'without a cap (set one with --max-cost)'
      : `for at most ${dollars(most)}; the next run buys the remaining rows`;
  return `Each run buys new rows of its input${old}${failed}, ${bound}.`;
}

/** Returns the purchase to confirm for each run. A schedule needs a confirmation or a cap, even if a run now would be cheap. */
function scheduledPurchaseOf(plan: JobPlan, { yes }: EnrichManner): PlannedPurchase {
  const most = atMost(plan);
  const cost = most === null ? 'any amount' : `at most ${dollars(most)}`;
  return {
    micros: most,
    sentence: `Each run of the schedule costs money, ${most === null ? 'without a cap' : cost}`,
    question: `Spend ${cost} on each run?`,
    yes,
    maxCost: plan.request.maxCostDollars,
    always: true,
  };
}
