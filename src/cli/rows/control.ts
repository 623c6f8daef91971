import { setTimeout as sleep } from 'node:timers/promises';
import type { Output } from '../../api/command-outputs.js';
import { exitCodeOfPause } from '../../core/processes/exit-codes.js';
import { type Resumption, resumption } from '../../core/row-job-schemas.js';
import { isUnderWay } from '../../core/rows/job-names.js';
import { sentenceOf } from '../../core/rows/pause.js';
import { type JobStatus, UsageError } from '../../worker/config/runtime-types.js';
import { EventControl } from '../../worker/control/event-control.js';
import { MonitorControl } from '../../worker/control/monitor-control.js';
import { findWalk } from '../../worker/runtime/job-lists.js';
import type { Runtime } from '../../worker/runtime/runtime.js';
import { LOADED_EVENTS, walkNamed, watchWalk } from '../events/walk.js';
import { type AllowedFailures, failureLimit, readAll, spelled } from '../flag-values.js';
import { exportText } from '../monitors.js';
import { showStarted } from '../progress/plan.js';
import { follow } from '../progress/progress.js';
import { endedData, endingOf, showPause, summaryText } from '../progress/summary.js';
import { checkConnection } from '../shared/check-connection.js';
import { type Context, type ExitCode, exitCodes, type Flags } from '../shared/command.js';
import { answered, type Session, settings, withRuntime } from '../shared/session.js';
import { duration, printable, toDo } from '../text.js';
import { exitCodeOf, watchToEnd } from './enrich.js';
import { stateData, statusLine } from './status.js';

export async function pause(context: Context, job: string): Promise<ExitCode> {
  return withRuntime(context, settings(context, {}), {}, async ({ runtime }) => {
    const { say } = context.terminal;
    const toResume = toDo('To resume it', 'resume', job);
    const walk = await walkNamed(runtime, job);
    const found = walk === null ? await runtime.rows.status(job) : null;
    if (found?.phase === 'paused') {
      // The line has the way to resume, which depends on the reason of the pause.
      say(statusLine(found, Date.now()));
      return exitCodes.ok;
    }
    const handle = walk ?? (await runtime.rows.attach(job));
    await handle.pause({ isAbandoned: await runtime.isAbandoned(handle.workflowId) });
    say(
      found?.phase === 'waiting'
        ? `${printable(handle.job)} pauses as soon as a worker runs; nothing is sent until then. ${toResume}`
        : `Pausing ${printable(handle.job)}; paid requests in flight still land. ${toResume}`,
    );
  });
}

const changes = Object.keys(resumption.shape) as (keyof Resumption)[];

export async function resume(context: Context, job: string, flags: Flags<'resume'>): Promise<ExitCode> {
  const { stopAtFailed, mistakes } = readAll({ stopAtFailed: () => failureLimit(flags) });
  const config = settings(context, flags, mistakes);
  const { detach: detached = false } = flags;
  const given = { ...flags, stopAtFailed };
  return withRuntime(context, config, { sends: !detached }, async (session) => {
    if (detached) await (await session.runtime.work()).checkDetached();
    await refuseOtherService(session.runtime, job, config.origin);
    await checkConnection(config);
    if (!detached) session.working();
    const walk = findWalk(await session.runtime.jobs.walks(), job);
    if (walk) {
      const ofRows = changes.find((name) => given[name] !== undefined);
      // The names of these flags are shorter than those of the fields that they set.
      const flag = ofRows && spelled(ofRows.replace(/Dollars$|s$/, ''));
      if (flag) throw new UsageError('option-unusable', `${flag} is for jobs of rows, not for events.`);
      if (detached) await (await session.runtime.work()).checkDetached(walk);
      else {
        session.working(walk.job);
        await (await session.runtime.work()).own(walk);
      }
      const control = new EventControl(await session.runtime.workflows(), context.cwd);
      const handle = await control.resume(walk, { detached });
      return detached ? showStarted(context, { job: walk.job, state: 'started' }) : watchWalk(session, handle);
    }
    const how: Resumption = Object.fromEntries(changes.map((name) => [name, given[name]]));
    const handle = await (await session.runtime.work()).resume(job, how, { detached });
    if (detached) return showStarted(context, { job: handle.job, state: 'started' });
    session.working(handle.job);
    return watchToEnd(session, handle);
  });
}

/**
 * Throws `UsageError` if the job belongs to another service. Such a difference arises if an API key was set or unset after
 * the job started.
 */
export async function refuseOtherService(runtime: Runtime, job: string, origin: string): Promise<void> {
  const mine = (await runtime.jobs.known()).filter((one) => one.job === job || one.name === job);
  const [first] = mine;
  if (!first || mine.some((one) => one.origin === origin)) return;
  throw new UsageError(
    'other-service',
    first.origin === 'sandbox'
      ? `Job ${first.job} belongs to the sandbox. Unset the API key to resume it.`
      : `Job ${first.job} belongs to ${first.origin}. Set SEARCHFLOW_API_KEY (and SEARCHFLOW_BASE_URL) to resume it.`,
  );
}

export async function cancel(context: Context, job: string): Promise<ExitCode> {
  return withRuntime(context, settings(context, {}), {}, async ({ runtime }) => {
    const walk = await walkNamed(runtime, job);
    if (walk) {
      await walk.cancel();
      context.terminal.say(
        `Cancelling ${printable(walk.job)}. Loaded events are kept; run its events command to resume.`,
      );
      return exitCodes.ok;
    }
    const handle = await runtime.rows.attach(job);
    await handle.cancel();
    // A run that no worker has read leaves no record once it has ended.
    const found = await runtime.rows.status(job).catch(() => null);
    const name = printable(handle.job);
    context.terminal.say(
      found?.phase === 'waiting'
        ? `${name} is cancelled, but no worker is running. Paid results are kept. ${toDo('To end it', 'worker')}`
        : `Cancelling ${name}. Its runs at the service, if any, are ended. Paid results are kept.${found === null ? '' : ` ${handle.wayToResume()}`}`,
    );
  });
}

const POLL_MS = 1000;
/** Longest wait for the state of a job after the timeout. */
const STATE_MS = 5000;

export async function wait(context: Context, job: string, flags: Flags<'wait'>): Promise<ExitCode> {
  const { failedRows, timeoutMs } = flags;
  return withRuntime(context, settings(context, {}), {}, async (session) => {
    session.watching(printable(job));
    const late = new AbortController();
    // The texts of a pause name the command that resumes the job, not this one.
    const about = { ...session, args: ['resume', job] };
    const waited: Session = { ...about, stopped: AbortSignal.any([session.stopped, late.signal]) };
    // Set once the job has ended: its result is then shown, even if that takes longer than the timeout.
    let isEnded = false;
    const ended = waitFor(waited, job, failedRows, () => {
      isEnded = true;
    });
    const timedOut =
      timeoutMs === undefined ? new Promise<null>(() => undefined) : sleep(timeoutMs, null, { ref: false });
    const code = await Promise.race([ended, timedOut]);
    if (code !== null || isEnded) return code ?? ended;
    const state = stateNow(session.runtime, job).catch(() => null);
    // The job may end now, or the state may not be known in time.
    const last = await Promise.race([ended.then((code) => ({ code })), state, sleep(STATE_MS, null, { ref: false })]);
    if (last !== null && 'code' in last) return last.code;
    if (isEnded) return ended;
    late.abort();
    context.terminal.show('');
    if (last?.paused) return last.paused(about);
    if (last?.found && last.found.phase !== 'waiting' && !isUnderWay(last.found.phase))
      return showEnded(session, last.found, failedRows);
    const unknown = { job, phase: 'running' as const, since: null, message: 'its state is not known' };
    const output: Output<'state'> = { kind: 'status', ...(last?.state ?? unknown) };
    context.terminal.result(output);
    context.terminal.say(
      `${printable(job)} has not ended after ${duration((timeoutMs ?? 0) / 1000)}, and is not affected. ${toDo('To wait again', 'wait', job)}`,
    );
    return exitCodes.waiting;
  });
}

interface StateNow {
  readonly state: Omit<Output<'state'>, 'kind'>;
  readonly found?: JobStatus;
  /** Shows what a person must do; absent unless the job waits for a person. */
  readonly paused?: (context: Context) => ExitCode;
}

/** A job that waits for a person is reported as paused even if `--timeout` is shorter than a pause takes to be sure. */
async function stateNow(runtime: Session['runtime'], job: string): Promise<StateNow> {
  const running = { job, phase: 'running' as const, since: null, message: null };
  if (job.startsWith('monitors-export-')) return { state: running };
  const walk = await walkNamed(runtime, job);
  if (walk !== null) {
    const { progress } = await walk.progress();
    const { phase } = progress;
    const state = { ...running, job: walk.job, phase, message: sentenceOf(progress) };
    if (phase !== 'paused') return { state };
    return { state, paused: (context) => showPause(context, walk.job, progress, LOADED_EVENTS) };
  }
  const found = await runtime.rows.status(job);
  const { kind: _, ...state } = stateData(found);
  const progress = found.shown?.progress;
  if (found.phase !== 'paused' || progress?.landing) return { state, found };
  if (progress) return { state, found, paused: (context) => showPause(context, job, progress) };
  // No worker answers, so the recorded state is shown.
  const recorded = ({ terminal }: Context) => {
    terminal.result(stateData(found));
    terminal.say(statusLine(found, Date.now()));
    return exitCodeOfPause(found.reason);
  };
  return { state, found, paused: recorded };
}

async function waitFor(
  session: Session,
  job: string,
  failedRows: AllowedFailures | undefined,
  onEnd: () => void,
): Promise<ExitCode> {
  const { runtime } = session;
  if (job.startsWith('monitors-export-')) return waitForExport(session, job);
  const walk = await walkNamed(runtime, job);
  if (walk) return watchWalk(session, walk, { untilPaused: true });
  const found = await runtime.rows.status(job);
  if (found.phase === 'waiting') session.terminal.note(statusLine(found, Date.now()));
  else if (!isUnderWay(found.phase)) {
    onEnd();
    return showEnded(session, found, failedRows);
  }
  const handle = await runtime.rows.attach(job);
  return watchToEnd(session, handle, { failedRows, untilPaused: true });
}

async function showEnded(session: Session, found: JobStatus, failedRows?: AllowedFailures): Promise<ExitCode> {
  const { terminal, env, runtime } = session;
  const { job, phase, lastRun } = found;
  if (phase === 'done') {
    const ending = await endingOf(session, job);
    terminal.tell(endedData(ending, lastRun), summaryText(ending, env));
    return exitCodeOf(ending.summary, failedRows);
  }
  terminal.result(stateData(found));
  terminal.say(statusLine(found, Date.now()));
  if (phase === 'failed') return exitCodes.failed;
  // The reason of a stop is in the result of its run, while Temporal keeps it.
  const end = await answered(runtime.rows.attach(job).then((handle) => handle.result()));
  return end === null ? exitCodes.stopped : exitCodeOf(end, failedRows);
}

/** Waits for an export of monitors, which is in no list of jobs. */
async function waitForExport({ terminal, cwd, runtime, stopped }: Session, job: string): Promise<ExitCode> {
  const control = new MonitorControl(await runtime.workflows(), cwd);
  const handle = control.attachExport(job);
  const watched = { poll: async () => null, show: () => null, result: () => handle.result() };
  const done = await follow(watched, { stopped, everyMs: POLL_MS });
  terminal.tell<Output<'monitorRuns'>>({ kind: 'export', ...done }, exportText(done));
  return exitCodes.ok;
}
