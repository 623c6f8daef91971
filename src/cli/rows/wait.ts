import { setTimeout as sleep } from 'node:timers/promises';
import type { Output } from '../../api/outputs/index.js';
import { exitCodeOfPause } from '../../core/processes/exit-codes.js';
import { isUnderWay } from '../../core/rows/job-names.js';
import { shellWord } from '../../core/text/shell-word.js';
import type { JobStatus, RuntimeConfig } from '../../worker/config/runtime-types.js';
import { MonitorControl } from '../../worker/control/monitor-control.js';
import { showPausedWalk, walkNamed, watchWalk } from '../events/watch-walk.js';
import { type FailedRows, readAll, readFailedRows, toDuration } from '../flag-values.js';
import { exportText } from '../monitors/monitors-export.js';
import { follow } from '../progress/progress.js';
import { endedData, summaryText } from '../progress/summary.js';
import { type Context, type ExitCode, exitCodes, type Flags } from '../shared/command.js';
import { answered, type Session, settings, withRuntime } from '../shared/session.js';
import { printable } from '../text.js';
import { codeOf, showPaused, watchToEnd } from './run-enrich.js';
import { stateData, statusLine } from './status.js';

/** Timers cannot be longer. */
const MOST_MS = 24 * 86_400_000;
const POLL_MS = 1000;
/** Longest wait for the state of a job after the timeout. */
const STATE_MS = 5000;

/** `searchflow wait JOB`: waits until a job that others run ends or pauses. Returns the exit code of the job's own command. */
export async function wait(context: Context, job: string, flags: Flags<'wait'>): Promise<ExitCode> {
  const { failedRows, timeoutMs, mistakes } = readAll({
    failedRows: () => readFailedRows(flags.failOnFailedRows),
    timeoutMs: () => toDuration('--timeout', flags.timeout, '90s, 30m or 2h, of at most 24d', [0, MOST_MS]),
  });
  const config = settings(context, {}, mistakes);
  const { json = false } = flags;
  return withRuntime(context, config, { sends: false }, async (session) => {
    session.watching(printable(job));
    const late = new AbortController();
    const waited: Session = { ...session, stopped: AbortSignal.any([session.stopped, late.signal]) };
    // The texts of a pause name the command that resumes the job, not this one.
    const about = { ...context, args: ['resume', job] };
    const manner = { json, failedRows };
    // Set once the job has ended: its result is then shown, even if that takes longer than the timeout.
    let isEnded = false;
    const ended = waitFor(about, config, waited, job, manner, () => {
      isEnded = true;
    });
    let timer: NodeJS.Timeout | undefined;
    const timedOut = new Promise<null>((resolve) => {
      if (timeoutMs !== undefined) timer = setTimeout(resolve, timeoutMs, null);
    });
    const code = await Promise.race([ended, timedOut]).finally(() => clearTimeout(timer));
    if (code !== null || isEnded) return code ?? ended;
    const state = stateNow(session.runtime, job).catch(() => null);
    // The job may end now, or the state may not be known in time.
    const last = await Promise.race([ended.then((code) => ({ code })), state, sleep(STATE_MS, null, { ref: false })]);
    if (last !== null && 'code' in last) return last.code;
    if (isEnded) return ended;
    late.abort();
    context.terminal.show('');
    if (last?.paused) return last.paused(about, json);
    if (last?.found && last.found.phase !== 'waiting' && !isUnderWay(last.found.phase))
      return showEnded(context, config, session, last.found, manner);
    const unknown = { job, phase: 'running' as const, since: null, message: 'its state is not known' };
    const output: Output<'state'> = { kind: 'status', ...(last?.state ?? unknown) };
    if (json) context.terminal.data(JSON.stringify(output));
    context.terminal.say(
      `${printable(job)} has not ended after ${flags.timeout}, and is not affected. To wait again:\n  searchflow wait ${shellWord(printable(job))}`,
    );
    return exitCodes.waiting;
  });
}

/** The state of a job, a walk or an export at one moment. */
interface StateNow {
  readonly state: Omit<Output<'state'>, 'kind'>;
  /** The status of a job of rows. */
  readonly found?: JobStatus;
  /** Shows what a person must do; absent unless the job waits for a person. */
  readonly paused?: (context: Context, json: boolean) => ExitCode;
}

/** A job that waits for a person is reported as paused even if `--timeout` is shorter than a pause takes to be sure. */
async function stateNow(runtime: Session['runtime'], job: string): Promise<StateNow> {
  const running = { job, phase: 'running' as const, since: null, message: null };
  if (job.startsWith('monitors-export-')) return { state: running };
  const walk = await walkNamed(runtime, job);
  if (walk !== null) {
    const { progress } = await walk.progress();
    const { phase, message } = progress;
    const state = { ...running, job: walk.job, phase, message };
    if (phase !== 'paused') return { state };
    return { state, paused: (context, json) => showPausedWalk(context, walk.job, progress, json) };
  }
  const found = await runtime.rows.status(job);
  const { kind: _, ...state } = stateData(found);
  const progress = found.shown?.progress;
  if (found.phase !== 'paused' || progress?.landing) return { state, found };
  if (progress) return { state, found, paused: (context, json) => showPaused(context, progress, json) };
  // No worker answers, so the recorded state is shown.
  const recorded = ({ terminal }: Context, json: boolean) => {
    if (json) terminal.data(JSON.stringify(stateData(found)));
    terminal.say(statusLine(found, Date.now()));
    return exitCodeOfPause(found.reason);
  };
  return { state, found, paused: recorded };
}

interface WaitManner {
  readonly json: boolean;
  readonly failedRows: FailedRows | null;
}

async function waitFor(
  context: Context,
  config: RuntimeConfig,
  session: Session,
  job: string,
  { json, failedRows }: WaitManner,
  onEnd: () => void,
): Promise<ExitCode> {
  const { runtime } = session;
  if (job.startsWith('monitors-export-')) return waitForExport(context, session, job, json);
  const walk = await walkNamed(runtime, job);
  if (walk) return watchWalk(context, session, walk, { json, untilPaused: true });
  const found = await runtime.rows.status(job);
  if (found.phase === 'waiting') context.terminal.note(statusLine(found, Date.now()));
  else if (!isUnderWay(found.phase)) {
    onEnd();
    return showEnded(context, config, session, found, { json, failedRows });
  }
  const handle = await runtime.rows.attach(job);
  return watchToEnd(context, config, session, handle, { json, failedRows, csv: null, badRows: [], untilPaused: true });
}

/** Shows a job that has ended already. */
async function showEnded(
  { terminal, env }: Context,
  { origin }: RuntimeConfig,
  { runtime }: Session,
  found: JobStatus,
  { json, failedRows }: WaitManner,
): Promise<ExitCode> {
  const { job, phase, lastRun } = found;
  if (phase === 'done') {
    const [summary, unknown] = await Promise.all([runtime.rows.summary(job), runtime.rows.unknownOutcomes(job)]);
    const ending = { summary, unknown, bill: null, csv: summary.csv, origin, badRows: [], ran: false };
    if (json) terminal.data(JSON.stringify(endedData(ending, lastRun)));
    else terminal.say(summaryText(ending, env));
    return codeOf(summary, failedRows);
  }
  if (json) terminal.data(JSON.stringify(stateData(found)));
  terminal.say(statusLine(found, Date.now()));
  if (phase === 'failed') return exitCodes.failed;
  // The reason of a stop is in the result of its run, while Temporal keeps it.
  const end = await answered(
    () => runtime.rows.attach(job),
    (handle) => handle.result(),
  ).catch(() => null);
  return end === null ? exitCodes.stopped : codeOf(end, failedRows);
}

/** Waits for an export of monitors, which is in no list of jobs. */
async function waitForExport(context: Context, session: Session, job: string, json: boolean): Promise<ExitCode> {
  const control = new MonitorControl(await session.runtime.workflows(), context.cwd);
  const handle = control.attachExport(job);
  const poll = async () => () => null;
  const done = await follow({ poll, result: () => handle.result() }, { stopped: session.stopped, everyMs: POLL_MS });
  const output: Output<'monitorRuns'> = { kind: 'export', ...done };
  if (json) context.terminal.data(JSON.stringify(output));
  else context.terminal.say(exportText(done));
  return exitCodes.ok;
}
